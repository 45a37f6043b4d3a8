-- How many of the wanted tokens, each given once, are among the tokens of any of three lists; a null list has none.
-- grain: one number
-- reads: nothing
create or replace temp macro tokens_found_in_any(wanted, first_seen, then_seen, last_seen) as
len([
    token for token in wanted
    if coalesce(list_contains(first_seen, token), false)
    or coalesce(list_contains(then_seen, token), false)
    or coalesce(list_contains(last_seen, token), false)
]);
