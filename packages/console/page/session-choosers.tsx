import { visibleText } from "@devtool/internal/visible-text";
import { ApprovalMode, type ListedAgent, stricterMode } from "@devtool/schema";
import { type ReactNode, useEffect, useState } from "react";
import type { ConsoleClient } from "./console-client.ts";
import { fillText, words } from "./words.ts";

/** Whether an agent follows a setting, or it is not known. */
export function isFollowed(
  agent: ListedAgent | undefined,
  setting: "approval_mode" | "fork_before_message" | "model",
): boolean {
  return agent?.follows?.settings.includes(setting) ?? true;
}

interface ModelChooserProps {
  readonly client: ConsoleClient;
  /** Empty for the server's first agent. */
  readonly agent: string;
  /** What the server says of it; undefined while that is not known. */
  readonly about: ListedAgent | undefined;
  /** Empty for that of the server or of the session. */
  readonly model: string;
  readonly onChange: (model: string) => void;
}

/**
 * The models that an agent lists; nothing when it lists none. For an agent that
 * follows no model, says so.
 */
export function ModelChooser({
  client,
  agent,
  about,
  model,
  onChange,
}: ModelChooserProps): ReactNode {
  const [models, setModels] = useState<readonly string[]>([]);
  const hasModels = isFollowed(about, "model");
  useEffect(() => {
    if (!hasModels) return;
    const mounted = new AbortController();
    client.agents.listModels({ agent }, mounted).then(
      ({ models: listed }) => setModels(listed.map(({ name }) => name)),
      () => setModels([]),
    );
    return () => mounted.abort();
  }, [client, agent, hasModels]);
  if (!hasModels) return <p>{words.noModels}</p>;
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

interface ModeChooserProps {
  /** What the server says of the agent; undefined while that is not known. */
  readonly about: ListedAgent | undefined;
  /** Unspecified for the server's. */
  readonly mode: ApprovalMode;
  /** The widest mode of the conversation. Unspecified where it has none. */
  readonly limit: ApprovalMode;
  readonly onChange: (mode: ApprovalMode) => void;
}

/**
 * How far a session goes without asking, within what the server allows and
 * allowed when the conversation began. For an agent that follows no mode, says
 * so.
 */
export function ModeChooser({
  about,
  mode,
  limit,
  onChange,
}: ModeChooserProps): ReactNode {
  if (!isFollowed(about, "approval_mode")) return <p>{words.noModes}</p>;
  const within = (each: ApprovalMode): ApprovalMode =>
    limit === ApprovalMode.UNSPECIFIED ? each : stricterMode(limit, each);
  const isLimited = within(ApprovalMode.YOLO) !== ApprovalMode.YOLO;
  return (
    <label>
      {words.mode}
      <select
        value={mode && within(mode)}
        onChange={({ currentTarget }) => onChange(Number(currentTarget.value))}
      >
        <option value={ApprovalMode.UNSPECIFIED}>
          {isLimited
            ? fillText(words.serverDefaultWithin, modeText(limit))
            : words.serverDefault}
        </option>
        {MODES.filter((each) => within(each) === each).map((each) => (
          <option key={each} value={each}>
            {modeText(each)}
          </option>
        ))}
      </select>
    </label>
  );
}

function modeText(mode: ApprovalMode): string {
  return ApprovalMode[mode].toLowerCase();
}
