import type { Escape } from "./escape.ts";
import { READ_ESCAPES, WRITE_ESCAPES } from "./file-escapes.ts";
import { APPROVAL_ESCAPES, NETWORK_ESCAPES } from "./network-escapes.ts";
import { KERNEL_ESCAPES, PROCESS_ESCAPES } from "./process-escapes.ts";

/** Every attempt to get out of the sandbox. */
export const ESCAPES: readonly Escape[] = [
  ...READ_ESCAPES,
  ...PROCESS_ESCAPES,
  ...NETWORK_ESCAPES,
  ...APPROVAL_ESCAPES,
  ...WRITE_ESCAPES,
  ...KERNEL_ESCAPES,
];
