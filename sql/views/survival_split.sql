-- Whether answers are shown whole, stored and not shown, or not stored: n questions with both scores, of those asked.
-- beside: shown whole by a context although the store has not every word, so that the three are no parts of one whole.
-- grain: a cell at one cutoff, under one label set
-- reads: scores
create or replace temp view survival_split as
select
    shown.run_id,
    shown.corpus,
    shown.cell,
    shown.cutoff_kind,
    shown.cutoff,
    shown.label_set,
    count(*) as asked,
    count(shown.value + stored.value) as n,
    count(*) filter (where shown.value = 1 and stored.value = 1) as shown,
    count(*) filter (where shown.value < 1 and stored.value = 1) as stored_not_shown,
    count(*) filter (where shown.value is not null and stored.value < 1) as not_stored,
    count(*) filter (where shown.value = 1 and stored.value < 1) as beside
from scores as shown
inner join scores as stored
    on
        shown.run_id = stored.run_id
        and shown.corpus = stored.corpus
        and shown.cell = stored.cell
        and shown.question_id = stored.question_id
        and shown.label_set = stored.label_set
where shown.metric = 'answer_survival_all' and stored.metric = 'store_survival_all'
group by shown.run_id, shown.corpus, shown.cell, shown.cutoff_kind, shown.cutoff, shown.label_set;
