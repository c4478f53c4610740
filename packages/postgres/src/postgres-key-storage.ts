import { toBinary } from "@bufbuild/protobuf";
import { type SigningKeyFile, SigningKeyFileSchema } from "@devtool/schema";
import type { KeyStorage, StoredKeys } from "@devtool/server/store";
import type { Pool } from "pg";
import { query } from "./connection.ts";
import { bounded, decodeStored } from "./stored-value.ts";

/** Keeps the keys of all servers in one row. */
export class PostgresKeyStorage implements KeyStorage {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async read(): Promise<StoredKeys> {
    const { rows } = await query<{ version: string; data: Buffer | null }>(
      this.#pool,
      {
        text: `SELECT version, ${bounded("data")} AS data FROM signing_key`,
      },
    );
    const [{ version = "0", data = Buffer.alloc(0) } = {}] = rows;
    return {
      keys: decodeStored(SigningKeyFileSchema, data, "signing_key"),
      version: BigInt(version),
    };
  }

  async replace(keys: SigningKeyFile, version: bigint): Promise<boolean> {
    const { rowCount } = await query(this.#pool, {
      text: "UPDATE signing_key SET version = version + 1, data = $1 WHERE version = $2",
      values: [toBinary(SigningKeyFileSchema, keys), version],
    });
    return rowCount === 1;
  }
}
