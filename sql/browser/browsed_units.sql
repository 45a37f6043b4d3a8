-- The text of every unit that touches a gold turn or is shown in a context.
-- grain: a unit
-- reads: units, browsed_touching, browsed_shown
with needed as (
    select
        browsed_touching.corpus,
        browsed_touching.representation,
        browsed_touching.unit_id
    from browsed_touching
    union all
    select
        browsed_shown.corpus,
        unnest(browsed_shown.representations) as representation,
        unnest(browsed_shown.unit_ids) as unit_id
    from browsed_shown
)

select
    units.corpus,
    units.representation,
    units.unit_id,
    units.show_text
from units
semi join needed
    on
        units.corpus = needed.corpus
        and units.representation = needed.representation
        and units.unit_id = needed.unit_id
order by units.corpus, units.conversation_id, units.representation, units.ordinal, units.unit_id;
