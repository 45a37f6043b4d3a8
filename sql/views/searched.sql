-- What the cells of runs search.
-- grain: a representation in a cell
-- reads: cells
create or replace temp view searched as
select
    cells.run_id,
    cells.cell,
    cells.corpus,
    cells.embedder,
    unnest(cells.representations) as representation
from cells;
