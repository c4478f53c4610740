import { useAnimation } from "ink";
import type { ReactNode } from "react";
import type { Paint } from "../render/style.ts";
import { Lines } from "./lines.tsx";
import type { Activity } from "./screen.ts";
import { shortCount } from "./status-line.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** Properties of `ActivityLine`. */
export interface ActivityLineProps {
  readonly activity: Activity;
  readonly columns: number;
  readonly paint: Paint;
}

/**
 * Shows that the agent works: for how long, and how many tokens it has used.
 */
export function ActivityLine({
  activity,
  columns,
  paint,
}: ActivityLineProps): ReactNode {
  const { frame } = useAnimation({ interval: 120 });
  const seconds = Math.floor((performance.now() - activity.startedAt) / 1000);
  const tokens =
    activity.tokens === 0n ? "" : ` · ${shortCount(activity.tokens)} tokens`;
  const notice = activity.notice === "" ? "" : ` · ${activity.notice}`;
  const words = `working ${seconds}s${tokens}${notice} · Esc interrupts`;
  return (
    <Lines
      lines={[
        `${paint("prompt", FRAMES[frame % FRAMES.length] ?? "")} ${words.slice(0, columns - 3)}`,
      ]}
    />
  );
}
