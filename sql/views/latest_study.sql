-- The run that a report shows when none is named: the last published study whose rows this snapshot holds.
-- grain: one row; run_id is null when there is no study
-- reads: cells, snapshots
create or replace temp view latest_study as
select arg_max(snapshots.run_id, snapshots.sequence) as run_id
from snapshots
semi join cells on snapshots.run_id = cells.run_id;
