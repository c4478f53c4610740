import { visibleText } from "@devtool/internal/visible-text";
import type { useAgents } from "@devtool/react";
import { ApprovalMode, type ListedAgent } from "@devtool/schema";
import type { ReactNode } from "react";
import type { ConsoleClient } from "./console-client.ts";
import { isFollowed, ModeChooser, ModelChooser } from "./session-choosers.tsx";
import { words } from "./words.ts";

/**
 * What a new session is started with. Empty values leave the choice to the
 * server.
 */
export interface NewSessionChoice {
  readonly agent: string;
  /** Absolute path of a directory on the server. */
  readonly workspace: string;
  readonly model: string;
  readonly mode: ApprovalMode;
}

/** Nothing chosen. */
export const NO_CHOICE: NewSessionChoice = {
  agent: "",
  workspace: "",
  model: "",
  mode: ApprovalMode.UNSPECIFIED,
};

interface NewSessionFieldsProps {
  readonly client: ConsoleClient;
  readonly offered: ReturnType<typeof useAgents>;
  readonly choice: NewSessionChoice;
  readonly onChange: (choice: NewSessionChoice) => void;
}

/** The agent, the directory, the model and the mode of a new session. */
export function NewSessionFields({
  client,
  offered: { agents, workspace },
  choice,
  onChange,
}: NewSessionFieldsProps): ReactNode {
  const about = aboutAgent(agents, choice.agent);
  const chooseAgent = (agent: string): void => {
    const keeps = isFollowed(aboutAgent(agents, agent), "approval_mode");
    const mode = keeps ? choice.mode : ApprovalMode.UNSPECIFIED;
    onChange({ ...choice, agent, model: "", mode });
  };
  return (
    <div className="new-session">
      {about && <p>{visibleText(about.description)}</p>}
      {agents.length > 1 && (
        <label>
          {words.agent}
          <select
            value={choice.agent}
            onChange={({ currentTarget }) => chooseAgent(currentTarget.value)}
          >
            {agents.map(({ name, displayName }) => (
              <option key={name} value={name}>
                {visibleText(displayName)}
              </option>
            ))}
          </select>
        </label>
      )}
      <label>
        {words.workspace}
        <input
          value={choice.workspace}
          placeholder={visibleText(workspace)}
          spellCheck={false}
          onChange={({ currentTarget }) =>
            onChange({ ...choice, workspace: currentTarget.value })
          }
        />
      </label>
      <ModelChooser
        client={client}
        agent={choice.agent}
        about={about}
        model={choice.model}
        onChange={(model) => onChange({ ...choice, model })}
      />
      <ModeChooser
        about={about}
        mode={choice.mode}
        limit={ApprovalMode.UNSPECIFIED}
        onChange={(mode) => onChange({ ...choice, mode })}
      />
    </div>
  );
}

/** Returns an agent by its name; the first for an empty one. */
export function aboutAgent(
  agents: NewSessionFieldsProps["offered"]["agents"],
  agent: string,
): ListedAgent | undefined {
  return agents.find(({ name }) => name === agent) ?? agents[0];
}
