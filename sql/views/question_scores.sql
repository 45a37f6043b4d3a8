-- Every score of a question side by side: a column a metric, null where it was not scored or has another cutoff.
-- The columns are the values of the type metric_name, which has a value for each card of schemas/metrics.py.
-- grain: a question in a cell at one cutoff and repeat, under one label set and judge
-- reads: scores
create or replace temp view question_scores as
pivot scores
on metric in metric_name
using max(value)
group by
    run_id, cell, corpus, conversation_id, question_id, category, cutoff_kind, cutoff, repeat, label_set, judge;
