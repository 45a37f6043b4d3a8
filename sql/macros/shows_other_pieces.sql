-- Whether a plan, as the JSON list of its steps, shows other pieces than units: merge, project.
-- grain: one truth value
-- reads: nothing
create or replace temp macro shows_other_pieces(plan) as
coalesce(list_has_any(json_extract_string(nullif(plan, ''), '$[*].step'), ['merge', 'project']), false);
