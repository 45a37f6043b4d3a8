-- Discounted gain of a list whose first `places` units are all relevant: sum of 1 / log2(rank + 1), ranks from 1.
-- grain: one number
-- reads: nothing
create or replace temp macro ideal_gain(places) as
coalesce(list_sum([1.0 / log2(place + 1) for place in range(1, places + 1)]), 0.0);
