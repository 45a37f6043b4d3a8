-- How many of some ranks are among the first `units`; a null list has none.
-- grain: one number
-- reads: nothing
create or replace temp macro ranks_within(ranks, units) as
coalesce(len([place for place in ranks if place <= units]), 0);
