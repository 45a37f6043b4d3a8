-- How many of the wanted tokens, each given once, are among the tokens seen.
-- grain: one number
-- reads: nothing
-- A scan for each wanted token: an answer has few, and list_intersect builds a set of all that was seen for every row.
create or replace temp macro tokens_found(wanted, seen) as
len([token for token in wanted if list_contains(seen, token)]);
