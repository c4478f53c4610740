import { A2A } from "./faults/a2a.ts";
import { CARD } from "./faults/card.ts";
import { COMMAND } from "./faults/command.ts";
import { type Fault, faultsOf } from "./faults/fault.ts";
import { SESSION } from "./faults/session.ts";
import { STREAM } from "./faults/stream.ts";
import { TOOL } from "./faults/tool.ts";

/**
 * Faults of a whole server, with the extension. Each breaks a requirement alone;
 * those of a plain server are in plain/faults.ts.
 */
export const FAULTS: readonly Fault[] = [
  A2A,
  CARD,
  SESSION,
  STREAM,
  TOOL,
  COMMAND,
].flatMap(faultsOf);
