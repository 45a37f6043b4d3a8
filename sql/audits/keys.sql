-- No key twice, no key column null.
-- grain: a key that is, by table; no row means pass
-- reads: audited, turns, units, provenance, extractions, questions, evidence, parts
-- Grouped by a hash of the key, which costs a tenth of grouping by its texts; two keys share one with chance 2^-64.
with every_key as (
    select
        'turns' as relation,
        turns.corpus,
        turns.conversation_id,
        turns.corpus is null or turns.conversation_id is null or turns.ordinal is null as is_null,
        hash(turns.corpus, turns.conversation_id, turns.ordinal) as key_hash
    from turns
    union all
    select
        'units' as relation,
        units.corpus,
        units.conversation_id,
        units.corpus is null or units.representation is null or units.unit_id is null as is_null,
        hash(units.corpus, units.representation, units.unit_id) as key_hash
    from units
    union all
    select
        'provenance' as relation,
        provenance.corpus,
        provenance.conversation_id,
        provenance.corpus is null
        or provenance.representation is null
        or provenance.unit_id is null
        or provenance.piece is null as is_null,
        hash(provenance.corpus, provenance.representation, provenance.unit_id, provenance.piece) as key_hash
    from provenance
    union all
    select
        'extractions' as relation,
        extractions.corpus,
        extractions.conversation_id,
        extractions.corpus is null
        or extractions.representation is null
        or extractions.conversation_id is null
        or extractions.piece is null as is_null,
        hash(
            extractions.corpus, extractions.representation, extractions.conversation_id, extractions.piece
        ) as key_hash
    from extractions
    union all
    select
        'questions' as relation,
        questions.corpus,
        questions.conversation_id,
        questions.corpus is null or questions.question_id is null or questions.label_set is null as is_null,
        hash(questions.corpus, questions.question_id, questions.label_set) as key_hash
    from questions
    union all
    select
        'evidence' as relation,
        evidence.corpus,
        evidence.conversation_id,
        evidence.corpus is null
        or evidence.question_id is null
        or evidence.label_set is null
        or evidence.position is null as is_null,
        hash(evidence.corpus, evidence.question_id, evidence.label_set, evidence.position) as key_hash
    from evidence
    union all
    select
        'parts' as relation,
        parts.corpus,
        parts.conversation_id,
        parts.corpus is null or parts.conversation_id is null or parts.part is null as is_null,
        hash(parts.corpus, parts.conversation_id, parts.part) as key_hash
    from parts
),

audited_keys as (
    select
        every_key.relation,
        every_key.corpus,
        every_key.conversation_id,
        every_key.is_null,
        every_key.key_hash
    from every_key
    semi join audited
        on every_key.corpus = audited.corpus and every_key.conversation_id = audited.conversation_id
)

select
    any_value(audited_keys.corpus) as corpus,
    any_value(audited_keys.conversation_id) as conversation_id,
    audited_keys.relation as subject,
    case when bool_or(audited_keys.is_null) then 'a key is null' else 'a key stands ' || count(*) || ' times' end
        as problem
from audited_keys
group by audited_keys.relation, audited_keys.key_hash
having count(*) > 1 or bool_or(audited_keys.is_null);
