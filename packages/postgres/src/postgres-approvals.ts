import { toBinary } from "@bufbuild/protobuf";
import { failpoint } from "@devtool/internal/failpoint";
import { type PolicyFile, PolicyFileSchema } from "@devtool/schema";
import type { ApprovalStorage, StoredApprovals } from "@devtool/server/store";
import type { Pool } from "pg";
import { query } from "./connection.ts";
import { bounded, decodeStored } from "./stored-value.ts";

/**
 * Keeps the approvals of all servers in one row, so that a change counts as a
 * whole and everywhere at once.
 */
export class PostgresApprovals implements ApprovalStorage {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async read(): Promise<StoredApprovals> {
    const { rows } = await query<{ version: string; data: Buffer | null }>(
      this.#pool,
      {
        name: "approvals",
        text: `SELECT version, ${bounded("data")} AS data FROM saved_approvals`,
      },
    );
    const [{ version = "0", data = Buffer.alloc(0) } = {}] = rows;
    return {
      file: decodeStored(PolicyFileSchema, data, "saved_approvals"),
      version,
    };
  }

  async replace(file: PolicyFile, version: string): Promise<boolean> {
    failpoint("devtool:postgres.approvals.before");
    const { rowCount } = await query(this.#pool, {
      text: "UPDATE saved_approvals SET version = version + 1, data = $1 WHERE version = $2",
      values: [toBinary(PolicyFileSchema, file), version],
    });
    failpoint("devtool:postgres.approvals.after");
    return rowCount === 1;
  }
}
