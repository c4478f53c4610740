import { EXTENSION_URI } from "@devtool/schema";

/** Whether an agent has the development-tool extension; who does not is not asked for it. */
export type ExtensionUse = "active" | "none";

/** What goes with each call in A2A 0.3: the extension that is activated (CARD-3). */
export function headersV03(extension: ExtensionUse): Record<string, string> {
  return extension === "none" ? {} : { "x-a2a-extensions": EXTENSION_URI };
}

/** What goes with each call in A2A 1.0: its version, and the extension. */
export function headersV1(extension: ExtensionUse): Record<string, string> {
  return { "a2a-version": "1.0", ...(extension === "active" && { "a2a-extensions": EXTENSION_URI }) };
}
