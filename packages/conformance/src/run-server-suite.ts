import type { CaseResult } from "./case-result.ts";
export async function* runServerSuite(
  _target: { readonly url: string; readonly token?: string },
  _signal: AbortSignal,
): AsyncIterable<CaseResult> {}
