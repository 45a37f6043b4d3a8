-- Whether a plan, as the JSON list of its steps, shows another text of each unit than its own: key_text, or a quote.
-- grain: one truth value
-- reads: nothing
create or replace temp macro shows_other_text(plan) as
coalesce(
    len([
        step for step in json_extract(nullif(plan, ''), '$[*]')
        if json_extract_string(step, '$.step') = 'show' and json_extract_string(step, '$.text') <> 'show'
    ]) > 0,
    false
);
