-- The searched units that touch the text of a gold turn.
-- grain: a unit and a gold turn
-- reads: provenance, browsed_gold, browsed_cells
with searched as (
    select distinct unnest(browsed_cells.representations) as representation
    from browsed_cells
)

select distinct
    provenance.corpus,
    provenance.conversation_id,
    provenance.ordinal,
    provenance.representation,
    provenance.unit_id
from provenance
semi join browsed_gold
    on
        provenance.corpus = browsed_gold.corpus
        and provenance.conversation_id = browsed_gold.conversation_id
        and provenance.ordinal = browsed_gold.ordinal
semi join searched on provenance.representation = searched.representation
where provenance.touches_text;
