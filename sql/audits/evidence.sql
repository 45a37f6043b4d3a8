-- Valid evidence names a turn that exists, at its place; every piece of evidence has its question.
-- grain: a piece of evidence that breaks it; no row means pass
-- reads: audited, evidence, questions, turns
with audited_evidence as (
    select
        evidence.corpus,
        evidence.conversation_id,
        evidence.question_id,
        evidence.label_set,
        evidence.position,
        evidence.turn_id,
        evidence.ordinal,
        evidence.status
    from evidence
    semi join audited on evidence.corpus = audited.corpus and evidence.conversation_id = audited.conversation_id
)

select
    audited_evidence.corpus,
    audited_evidence.conversation_id,
    audited_evidence.question_id || ' ' || audited_evidence.label_set || ' ' || audited_evidence.position as subject,
    case when questions.question_id is null then 'its question is missing' else 'its turn is missing' end as problem
from audited_evidence
left join questions
    on
        audited_evidence.corpus = questions.corpus
        and audited_evidence.question_id = questions.question_id
        and audited_evidence.label_set = questions.label_set
left join turns
    on
        audited_evidence.corpus = turns.corpus
        and audited_evidence.conversation_id = turns.conversation_id
        and audited_evidence.ordinal = turns.ordinal
        and audited_evidence.turn_id = turns.turn_id
where
    questions.question_id is null
    or (audited_evidence.status in ('valid', 'normalised', 'duplicate', 'abstention') and turns.ordinal is null);
