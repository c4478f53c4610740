import { fromBinary } from "@bufbuild/protobuf";
import { PushProgressSchema } from "@devtool/schema";
import type { ClientBase } from "pg";

/**
 * Writes how far push configs have been delivered into their column, where
 * queries see it.
 */
export async function positionConfigs(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ id: string; progress: Buffer }>(
    "SELECT id, progress FROM push_config",
  );
  for (const { id, progress } of rows) {
    const { cursor } = fromBinary(PushProgressSchema, progress);
    await client.query("UPDATE push_config SET position = $2 WHERE id = $1", [
      id,
      cursor,
    ]);
  }
}
