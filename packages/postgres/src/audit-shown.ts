import type { AuditRecord } from "@devtool/schema";
import type { detachShown } from "@devtool/server/store";
import type { ClientBase, Pool, QueryConfig } from "pg";
import { keyText } from "./key-text.ts";
import { bounded } from "./stored-value.ts";

/** What an audit record shows, apart from the record. */
export type ShownText = NonNullable<ReturnType<typeof detachShown>["text"]>;

/** Creates the statement that adds texts, of which the tasks may have some. */
export function putShown(texts: readonly ShownText[]): QueryConfig {
  return {
    name: "put-shown",
    text: `INSERT INTO audit_shown (task_id, digest, data)
      SELECT DISTINCT ON (task_id, digest) task_id, digest, data
      FROM unnest($1::text[], $2::bytea[], $3::bytea[]) AS shown (task_id, digest, data) ORDER BY task_id, digest
      ON CONFLICT DO NOTHING`,
    values: [
      texts.map(({ taskId }) => keyText(taskId)),
      texts.map(({ digest }) => digest),
      texts.map(({ data }) => data),
    ],
  };
}

/** Adds to records what they show, unless that is gone. */
export async function withShown(
  pool: Pool | ClientBase,
  records: readonly AuditRecord[],
): Promise<readonly AuditRecord[]> {
  const showing = records.filter(({ shownDigest }) => shownDigest.length > 0);
  if (showing.length === 0) return records;
  const keys = showing.map(keyOf);
  const { rows } = await pool.query<{ key: string; data: Buffer | null }>({
    name: "read-shown",
    text: `SELECT encode(digest, 'hex') || task_id AS key, ${bounded("data")} AS data
      FROM audit_shown WHERE (task_id, digest) IN (SELECT * FROM unnest($1::text[], $2::bytea[]))`,
    values: [
      showing.map(({ taskId }) => keyText(taskId)),
      showing.map(({ shownDigest }) => shownDigest),
    ],
  });
  const texts = new Map(rows.map(({ key, data }) => [key, data]));
  const shownOf = new Map(
    showing.map((record, at) => [record, texts.get(keys[at] ?? "")]),
  );
  return records.map((record) => {
    const data = shownOf.get(record);
    return data ? { ...record, shown: data.toString() } : record;
  });
}

function keyOf({ taskId, shownDigest }: AuditRecord): string {
  return Buffer.from(shownDigest).toString("hex") + keyText(taskId);
}
