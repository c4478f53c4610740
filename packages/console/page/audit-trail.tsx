import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { visibleText } from "@devtool/internal/visible-text";
import { AuditAction, type AuditRecord } from "@devtool/schema";
import { type ReactNode, useCallback } from "react";
import type { ConsoleClient } from "./console-client.ts";
import { sessionAddress } from "./place.ts";
import { problemText } from "./problem-text.ts";
import { Scrolling } from "./scrolling.tsx";
import { type Asked, useAnswer } from "./use-answer.ts";
import { fillText, language, words } from "./words.ts";

interface AuditTrailProps {
  readonly client: ConsoleClient;
  readonly taskId: string;
  /** The sequence number of the last event of the session. */
  readonly head: bigint;
}

/** Why each tool call of a session ran, or did not, as the audit log has it. */
export function AuditTrail({
  client,
  taskId,
  head,
}: AuditTrailProps): ReactNode {
  const ask = useCallback(
    async ({ before = [], signal }: Asked<Records>): Promise<Records> => {
      const records = [...before];
      const afterNumber = before.at(-1)?.number ?? 0n;
      for await (const { record } of client.audit.readAudit(
        { afterNumber, taskId },
        { signal },
      )) {
        if (record) records.push(record);
      }
      return records;
    },
    [client, taskId],
  );
  const { value: records, error } = useAnswer(ask, head);
  if (error) {
    return (
      <p className="hint">
        {error.code === Code.PermissionDenied
          ? words.auditMissing
          : problemText(error)}
      </p>
    );
  }
  if (!records) return null;
  if (records.length === 0) return <p className="hint">{words.noAudit}</p>;
  return (
    <Scrolling className="audit" label={words.audit}>
      <table>
        <tbody>
          {records.map((record) => (
            <Row key={String(record.number)} record={record} taskId={taskId} />
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}

interface RowProps {
  readonly record: AuditRecord;
  readonly taskId: string;
}

/** What was done about a call, by which rule or answer, and for whom. */
function Row({ record, taskId }: RowProps): ReactNode {
  const { time, rule, optionId, shown, sequence, delegation } = record;
  const by = [record.principal, record.clientLabel, record.sandbox];
  return (
    <tr>
      <td>{time && timestampDate(time).toLocaleTimeString(language)}</td>
      <td>{actionText(record.action)}</td>
      <td>{visibleText(record.toolName)}</td>
      <td>
        {rule && <p>{fillText(words.byRule, visibleText(rule))}</p>}
        {optionId && <p>{fillText(words.byAnswer, visibleText(optionId))}</p>}
        {delegation && (
          <p>
            {fillText(
              words.byDelegation,
              visibleText(delegation.agent || delegation.mcpServer),
            )}
            {delegation.taskId && ` (${visibleText(delegation.taskId)})`}
          </p>
        )}
        {shown && (
          <details>
            <summary>{words.input}</summary>
            <pre className="output">{visibleText(shown)}</pre>
          </details>
        )}
      </td>
      <td>{visibleText(by.filter(Boolean).join(" · "))}</td>
      <td>
        {sequence > 0n && (
          <a href={sessionAddress(taskId, "timeline")}>
            {fillText(words.event, String(sequence))}
          </a>
        )}
      </td>
    </tr>
  );
}

type Records = readonly AuditRecord[];

/** Returns what was done, in words. A newer server may know more actions. */
function actionText(action: AuditAction): string {
  const name = AuditAction[action] ?? String(action);
  const texts: Readonly<Record<string, string>> = words.auditActions;
  return texts[name] ?? name;
}
