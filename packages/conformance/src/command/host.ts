import type { Writable } from "node:stream";
import type { ServerTrust } from "../binding/binding.ts";

/** What the command that runs the kit gives to it. */
export interface Host {
  /** Receives the results. */
  readonly stdout: Writable;
  /**
   * Returns what a server under test is called with. The token is empty if it
   * has none.
   */
  findAccess(
    url: string,
    signal: AbortSignal,
  ): Promise<{ readonly token: string; readonly trust?: ServerTrust }>;
  /**
   * Starts a server of the scripted agent, which programs under test talk to.
   *
   * Absent if there is none, and their conversations with it are skipped.
   */
  startServer?(
    workspace: string,
  ): Promise<
    { readonly url: string; readonly token: string } & AsyncDisposable
  >;
}
