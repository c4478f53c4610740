import { setTimeout as delay } from "node:timers/promises";
import { failpoint } from "@devtool/internal/failpoint";
import type {
  AgentSessionKey,
  AgentSessions,
  SessionTurn,
} from "@devtool/server/store";
import type { Pool } from "pg";
import { query } from "./connection.ts";
import { idOfKey, keyText } from "./key-text.ts";
import type { LeaseTerm, PostgresLeases } from "./postgres-leases.ts";

/**
 * The time in milliseconds after which the end of a turn that could not be
 * written is tried again.
 */
const RETRY_MS = 1000;

/**
 * Begins a turn of a server whose own row has not expired.
 *
 * A conversation is taken only from the owner that the statement saw: it does
 * not see the row of a server whose term began after it, and would take that
 * server for a dead one.
 */
const BEGIN_TURN = `
  WITH me AS (
    SELECT FROM replica WHERE id = $3 AND alive_until > clock_timestamp()
  ), dead AS (
    SELECT owner FROM agent_session WHERE principal = $1 AND context_id = $2
    AND NOT EXISTS (SELECT FROM replica WHERE replica.id = owner AND alive_until > clock_timestamp())
  ), begun AS (
    INSERT INTO agent_session AS known (principal, context_id, owner, fence, turns, session)
    SELECT $1, $2, $3, 1, 1, '' FROM me
    ON CONFLICT (principal, context_id) DO UPDATE SET owner = excluded.owner,
      fence = known.fence + CASE WHEN known.owner = excluded.owner THEN 0 ELSE 1 END,
      turns = CASE WHEN known.owner = excluded.owner THEN known.turns + 1 ELSE 1 END
    WHERE known.owner = excluded.owner OR known.turns = 0 OR known.owner IN (SELECT owner FROM dead)
    RETURNING fence, session
  )
  SELECT (SELECT fence FROM begun) AS fence, (SELECT session FROM begun) AS session, EXISTS (SELECT FROM me) AS alive`;

/**
 * The row that `BEGIN_TURN` returns. Without a fence, another server has a turn
 * or this one's term has ended.
 */
interface BegunRow {
  readonly [column: string]: unknown;
  readonly fence: string | null;
  readonly session: string | null;
  readonly alive: boolean;
}

/**
 * Keeps in a table which server works in which conversation of an agent. Turns
 * of a server end with its term.
 */
export class PostgresAgentSessions implements AgentSessions {
  readonly #pool: Pool;
  readonly #leases: PostgresLeases;

  constructor(pool: Pool, leases: PostgresLeases) {
    this.#pool = pool;
    this.#leases = leases;
  }

  async begin({
    principal,
    contextId,
  }: AgentSessionKey): Promise<SessionTurn | undefined> {
    const key = [keyText(principal), keyText(contextId)];
    for (;;) {
      const term = await this.#leases.currentTerm();
      failpoint("devtool:postgres.session-begin.before");
      const { rows } = await query<BegunRow>(this.#pool, {
        name: "begin-session-turn",
        text: BEGIN_TURN,
        values: [...key, term.owner],
      });
      failpoint("devtool:postgres.session-begin.after");
      const [row] = rows;
      if (row && row.fence !== null) {
        return this.#turn(
          key,
          term,
          BigInt(row.fence),
          idOfKey(row.session ?? ""),
        );
      }
      if (row?.alive) return undefined;
      term.end();
    }
  }

  #turn(
    key: readonly string[],
    term: LeaseTerm,
    fence: bigint,
    agentSessionId: string,
  ): SessionTurn {
    const change = async (
      set: string,
      ...values: readonly string[]
    ): Promise<void> => {
      const text = `UPDATE agent_session SET ${set} WHERE principal = $1 AND context_id = $2 AND owner = $3 AND fence = $4`;
      await query(this.#pool, {
        text,
        values: [...key, term.owner, fence, ...values],
      });
    };
    return {
      fence,
      agentSessionId,
      record: (id) => change("session = $5", keyText(id)),
      [Symbol.asyncDispose]: async () => {
        while (!term.lost.aborted) {
          const isDone = await change("turns = turns - 1").then(
            () => true,
            () => false,
          );
          if (isDone) return;
          // The term ends if the database stays away, and the turn with it.
          await delay(RETRY_MS, undefined, { signal: term.lost }).catch(
            () => undefined,
          );
        }
      },
    };
  }
}
