import { A2A_1 } from "./faults/a2a-v1.ts";
import { A2A_03 } from "./faults/a2a-v03.ts";
import { CARD } from "./faults/card.ts";
import { COMMAND } from "./faults/command.ts";
import type { Fault } from "./faults/fault.ts";
import { SESSION } from "./faults/session.ts";
import { STREAM } from "./faults/stream.ts";
import { TOOL } from "./faults/tool.ts";

/**
 * At least one fault for each requirement that a server suite tests. Each
 * breaks that requirement alone.
 */
export const FAULTS: readonly Fault[] = [
  ...A2A_03,
  ...A2A_1,
  ...CARD,
  ...SESSION,
  ...STREAM,
  ...TOOL,
  ...COMMAND,
];
