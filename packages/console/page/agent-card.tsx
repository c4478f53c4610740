import { visibleText } from "@devtool/internal/visible-text";
import { type ReactNode, useState } from "react";
import type { ConsoleClient } from "./console-client.ts";
import { problemText } from "./problem-text.ts";
import { words } from "./words.ts";

interface AgentCardProps {
  readonly client: ConsoleClient;
  /** The name of the agent. Empty on a server with one agent. */
  readonly agent: string;
}

/**
 * The card of an agent as other clients get it in A2A 1.0, read when it is
 * opened.
 */
export function AgentCard({ client, agent }: AgentCardProps): ReactNode {
  const [card, setCard] = useState("");
  const read = async (): Promise<void> => {
    const path = `${agent && `/agents/${encodeURIComponent(agent)}`}/.well-known/agent-card.json`;
    try {
      const response = await client.request(path, {
        headers: { "a2a-version": "1.0" },
      });
      const text = await response.text();
      setCard(response.ok ? JSON.stringify(JSON.parse(text), null, 2) : text);
    } catch (reason) {
      setCard(problemText(reason));
    }
  };
  return (
    <details
      onToggle={({ currentTarget }) => currentTarget.open && void read()}
    >
      <summary>{words.card}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls */}
      <pre className="output" tabIndex={0}>
        {visibleText(card)}
      </pre>
    </details>
  );
}
