import { toJsonString } from "@bufbuild/protobuf";
import { type AuditRecord, AuditRecordSchema } from "@devtool/schema";
import { verifyAudit } from "@devtool/server";
import { type ConnectionOptions, connect } from "../connection.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";

/** `devtool audit export`: each record of the audit log as a line of JSON, the first one first. */
export async function exportAudit(options: ConnectionOptions, io: Io): Promise<number> {
  for await (const record of readAudit(options, io)) writeLine(io.stdout, toJsonString(AuditRecordSchema, record));
  return ExitCode.OK;
}

/** `devtool audit verify`: checks that no record of the audit log was changed, moved or cut out. */
export async function verify(options: ConnectionOptions & { readonly head?: string }, io: Io): Promise<number> {
  let headSeen = options.head === undefined;
  async function* watched(): AsyncIterable<AuditRecord> {
    for await (const record of readAudit(options, io)) {
      headSeen ||= Buffer.from(record.hash).toString("hex") === options.head;
      yield record;
    }
  }
  const { count, head, fault } = await verifyAudit(watched());
  if (fault !== undefined) return failed(`${fault} (${count} records before it are in order)`, io);
  if (!headSeen) return failed(`no record has the hash "${options.head}": the end of the log was cut off`, io);
  writeLine(io.stdout, `${count} records are in order${head === "" ? "" : `; the last has the hash ${head}`}`);
  return ExitCode.OK;
}

function failed(problem: string, io: Io): number {
  writeLine(io.stderr, `devtool: audit log: ${problem}`);
  return ExitCode.FAILED;
}

async function* readAudit(options: ConnectionOptions, io: Io): AsyncIterable<AuditRecord> {
  const client = await connect(options, io);
  for await (const { record } of client.audit.readAudit({})) if (record) yield record;
}
