import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { AuditAction, type AuditRecord } from "@devtool/schema";
import { type ReactNode, useEffect, useState } from "react";
import type { ConsoleClient } from "./console-client.ts";
import { Scrolling } from "./scrolling.tsx";
import { language, words } from "./words.ts";

export interface AuditTrailProps {
  readonly client: ConsoleClient;
  readonly taskId: string;
  /** The sequence number of the last event of the session: with another one, the log is read again. */
  readonly head: bigint;
}

/** Why each tool call of a session ran, or did not, as the audit log has it. */
export function AuditTrail({ client, taskId, head }: AuditTrailProps): ReactNode {
  const { records, problem } = useRecords(client, taskId, head);
  if (problem !== "") return <p className="hint">{problem}</p>;
  if (records.length === 0) return <p className="hint">{words.noAudit}</p>;
  return (
    <Scrolling className="audit" label={words.audit}>
      <table>
        <tbody>
          {records.map((record) => (
            <tr key={String(record.number)}>
              <td>{record.time && timestampDate(record.time).toLocaleTimeString(language)}</td>
              <td>{AuditAction[record.action]}</td>
              <td>{record.toolName}</td>
              <td>{record.rule}</td>
              <td>{[record.principal, record.clientLabel].filter(Boolean).join(" · ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}

interface Records {
  readonly records: readonly AuditRecord[];
  /** Why there are none; empty if nothing is wrong. */
  readonly problem: string;
}

function useRecords(client: ConsoleClient, taskId: string, head: bigint): Records {
  const [read, setRead] = useState<Records>({ records: [], problem: "" });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new event may have a new record
  useEffect(() => {
    const mounted = new AbortController();
    void readRecords(client, taskId, mounted.signal).then((records) => {
      if (!mounted.signal.aborted) setRead(records);
    });
    return () => mounted.abort();
  }, [client, taskId, head]);
  return read;
}

async function readRecords(client: ConsoleClient, taskId: string, signal: AbortSignal): Promise<Records> {
  const records: AuditRecord[] = [];
  try {
    for await (const { record } of client.audit.readAudit({}, { signal })) {
      if (record?.taskId === taskId) records.push(record);
    }
    return { records, problem: "" };
  } catch (reason) {
    const { code, rawMessage } = ConnectError.from(reason);
    return { records, problem: code === Code.PermissionDenied ? words.auditMissing : rawMessage };
  }
}
