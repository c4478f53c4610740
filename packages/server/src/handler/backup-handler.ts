import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { BackupService } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";
import { writeBackup } from "../store/backup.ts";
import type { ServerStore } from "../store/task-store.ts";
import type { Methods } from "./request-handler.ts";

/** The size in bytes of a part of a backup. */
const PART_BYTES = 256 * 1024;

/** Where a backup lies while it is sent. */
const FILE = "backup.partial";

/**
 * Creates the handler of `BackupService`, which writes a backup beside the
 * store and sends it.
 */
export function createBackupHandler(
  store: ServerStore,
  dataDirectory: string | undefined,
): Methods<typeof BackupService> {
  let isRunning = false;
  async function* send(path: string, signal: AbortSignal) {
    await using file = await open(path);
    for await (const data of file.createReadStream({
      highWaterMark: PART_BYTES,
      autoClose: false,
      signal,
    })) {
      yield create(BackupService.method.createBackup.output, { data });
    }
  }
  return {
    async *createBackup(_request, { signal }) {
      if (dataDirectory === undefined) throw nothingToBackUp();
      if (isRunning) throw isBusy();
      isRunning = true;
      const path = join(dataDirectory, FILE);
      try {
        // A server that was killed may have left one.
        await rm(path, { force: true });
        await writeBackup(store, dataDirectory, path);
        yield* send(path, signal);
      } finally {
        await rm(path, { force: true });
        isRunning = false;
      }
    },
  };
}

function nothingToBackUp(): DevtoolError {
  const problem = "the server keeps its tasks in memory";
  const remedy = "start it with a data directory";
  return new DevtoolError(problem, Code.Unimplemented, { remedy });
}

function isBusy(): DevtoolError {
  const problem = "another backup is being written";
  const remedy = "try again when it has ended";
  return new DevtoolError(problem, Code.FailedPrecondition, { remedy });
}
