-- What each corpus holds: conversations, sessions, turns, characters, questions with and without gold, units by name.
-- grain: a corpus
-- reads: conversations, questions, gold_turns, units
-- no rows: this snapshot holds no conversation; memlake snapshots ls says which there are
with recorded as (
    select
        conversations.corpus,
        count(*) as conversations,
        sum(conversations.sessions) as sessions,
        sum(conversations.turns) as turns,
        sum(conversations.characters) as characters
    from conversations
    group by conversations.corpus
),

asked as (
    select
        questions.corpus,
        count(distinct questions.question_id) as questions,
        list_sort(list(distinct questions.label_set)) as label_sets
    from questions
    group by questions.corpus
),

gold as (
    select
        gold_turns.corpus,
        count(distinct gold_turns.question_id) as questions
    from gold_turns
    group by gold_turns.corpus
),

counted as (
    select
        units.corpus,
        units.representation,
        count(*) as units
    from units
    group by units.corpus, units.representation
),

stored as (
    select
        counted.corpus,
        map(
            list(counted.representation order by counted.representation),
            list(counted.units order by counted.representation)
        ) as units
    from counted
    group by counted.corpus
)

select
    recorded.corpus,
    recorded.conversations,
    cast(recorded.sessions as bigint) as sessions,
    cast(recorded.turns as bigint) as turns,
    cast(recorded.characters as bigint) as characters,
    coalesce(asked.questions, 0) as questions,
    coalesce(gold.questions, 0) as questions_with_gold,
    asked.label_sets,
    stored.units
from recorded
left join asked on recorded.corpus = asked.corpus
left join gold on recorded.corpus = gold.corpus
left join stored on recorded.corpus = stored.corpus
order by recorded.corpus;
