import { ApprovalMode, visibleText } from "@devtool/schema";
import { type ReactNode, useEffect, useState } from "react";
import type { ConsoleClient } from "./console-client.ts";
import { words } from "./words.ts";

export interface ModelChooserProps {
  readonly client: ConsoleClient;
  /** Empty for the server's first agent. */
  readonly agent: string;
  /** Empty for that of the server or of the session. */
  readonly model: string;
  readonly onChange: (model: string) => void;
}

/** The models that an agent lists; nothing when it lists none. */
export function ModelChooser({
  client,
  agent,
  model,
  onChange,
}: ModelChooserProps): ReactNode {
  const [models, setModels] = useState<readonly string[]>([]);
  useEffect(() => {
    const mounted = new AbortController();
    client.agents.listModels({ agent }, mounted).then(
      ({ models: listed }) => setModels(listed.map(({ name }) => name)),
      () => setModels([]),
    );
    return () => mounted.abort();
  }, [client, agent]);
  if (models.length === 0) return null;
  return (
    <label>
      {words.model}
      <select
        value={model}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      >
        <option value="">{words.serverDefault}</option>
        {models.map((name) => (
          <option key={name} value={name}>
            {visibleText(name)}
          </option>
        ))}
      </select>
    </label>
  );
}

const MODES = [
  ApprovalMode.PLAN,
  ApprovalMode.DEFAULT,
  ApprovalMode.AUTO_EDIT,
  ApprovalMode.YOLO,
];

export interface ModeChooserProps {
  /** Unspecified for the server's. */
  readonly mode: ApprovalMode;
  readonly onChange: (mode: ApprovalMode) => void;
}

/** How far a session goes without asking, within what the server allows. */
export function ModeChooser({ mode, onChange }: ModeChooserProps): ReactNode {
  return (
    <label>
      {words.mode}
      <select
        value={mode}
        onChange={({ currentTarget }) => onChange(Number(currentTarget.value))}
      >
        <option value={ApprovalMode.UNSPECIFIED}>{words.serverDefault}</option>
        {MODES.map((each) => (
          <option key={each} value={each}>
            {ApprovalMode[each].toLowerCase()}
          </option>
        ))}
      </select>
    </label>
  );
}
