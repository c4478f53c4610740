import { visibleText } from "@devtool/internal/visible-text";
import {
  ApprovalMode,
  type ListedMcpServer,
  type ListedRule,
  RuleDecision,
} from "@devtool/schema";
import { type ReactNode, useCallback } from "react";
import type { ConsoleClient } from "./console-client.ts";
import { problemText } from "./problem-text.ts";
import { Scrolling } from "./scrolling.tsx";
import { type Asked, useAnswer } from "./use-answer.ts";
import { countText, words } from "./words.ts";

interface WorkspaceRulesProps {
  readonly client: ConsoleClient;
  readonly taskId: string;
  /** The sequence number of the last event of the session. */
  readonly head: bigint;
}

/**
 * What decides about the calls of a session: mode, rules, MCP servers and
 * trust. To read: nothing is changed here.
 */
export function WorkspaceRules({
  client,
  taskId,
  head,
}: WorkspaceRulesProps): ReactNode {
  const ask = useCallback(
    ({ signal }: Pick<Asked<unknown>, "signal">) =>
      client.workspaces.getWorkspaceSettings({ taskId }, { signal }),
    [client, taskId],
  );
  const { value, error } = useAnswer(ask, head);
  if (!value) {
    return (
      <Scrolling className="facts-page" label={words.rules}>
        {error && <p role="alert">{problemText(error)}</p>}
      </Scrolling>
    );
  }
  const { approvalMode, rules, mcpServers, trust } = value;
  return (
    <Scrolling className="facts-page" label={words.rules}>
      <p>
        {words.approvalMode}:{" "}
        <code>{ApprovalMode[approvalMode].toLowerCase()}</code>
      </p>
      <h2>{words.rules}</h2>
      <Rules rules={rules} />
      <h2>{words.mcpServers}</h2>
      <McpServers servers={mcpServers} />
      {trust && (
        <>
          <h2>{words.configuration}</h2>
          <p>
            <code>{visibleText(trust.workspacePath)}</code>{" "}
            {trust.isTrusted ? words.isTrusted : words.isNotTrusted}
          </p>
          {trust.problem && (
            <p className="facts">{visibleText(trust.problem)}</p>
          )}
          <ul>
            {trust.files.map((file) => (
              <li key={file}>
                <code>{visibleText(file)}</code>
              </li>
            ))}
          </ul>
        </>
      )}
    </Scrolling>
  );
}

function Rules({
  rules,
}: {
  readonly rules: readonly ListedRule[];
}): ReactNode {
  if (rules.length === 0) return <p>{words.noRules}</p>;
  return (
    <ul className="rules">
      {rules.map(({ name, decision, description }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: saved approvals may have the same name
        <li key={index}>
          <strong>{decisionWord(decision)}</strong> {visibleText(description)}{" "}
          <span className="facts">{visibleText(name)}</span>
        </li>
      ))}
    </ul>
  );
}

function McpServers({
  servers,
}: {
  readonly servers: readonly ListedMcpServer[];
}): ReactNode {
  if (servers.length === 0) return <p>{words.none}</p>;
  const states: Readonly<Record<string, string>> = words.connections;
  return (
    <ul>
      {servers.map(({ name, state, toolCount }) => (
        <li key={name}>
          {visibleText(name)}{" "}
          <span className="facts">
            {[states[state] ?? state, countText(words.tools, toolCount)].join(
              " · ",
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

function decisionWord(decision: RuleDecision): string {
  switch (decision) {
    case RuleDecision.ALLOW:
      return words.decisions.allow;
    case RuleDecision.ASK:
      return words.decisions.ask;
    case RuleDecision.DENY:
    case RuleDecision.UNSPECIFIED:
      return words.decisions.deny;
    default:
      return decision satisfies never;
  }
}
