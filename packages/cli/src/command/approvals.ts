import { resolve } from "node:path";
import { describeRule, SavedApprovals } from "@devtool/policy";
import { approvalId } from "@devtool/policy/operator";
import type { PolicyRule } from "@devtool/schema";
import { operatorConfig } from "../agents/agent-options.ts";
import { defaultDataDirectory } from "../connection/discovery.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import { indented, visibleName } from "../render/style.ts";
import { storeOptions } from "../store-options.ts";

/** The options of `devtool approvals`. */
interface ApprovalsOptions {
  readonly data?: string;
  readonly config?: string;
  readonly store?: string;
}

/** `devtool approvals list`: lists the saved approvals, oldest first. */
export async function approvalsList(
  options: ApprovalsOptions,
  io: Io,
): Promise<number> {
  return withApprovals(options, io, async (approvals) => {
    const saved = await approvals.current();
    if (saved.length === 0) writeLine(io.stderr, "no approvals are saved");
    for (const { rule } of saved) {
      writeLine(io.stdout, `${approvalId(rule)}  ${describe(rule)}`);
    }
    return ExitCode.OK;
  });
}

/**
 * `devtool approvals remove`: removes a saved approval, on all servers that
 * share it.
 */
export async function approvalsRemove(
  id: string,
  options: ApprovalsOptions,
  io: Io,
): Promise<number> {
  return withApprovals(options, io, async (approvals) => {
    const rule = await approvals.withdraw(id);
    if (rule) {
      writeLine(io.stdout, `asks again: ${describe(rule)}`);
    } else {
      writeLine(
        io.stderr,
        `approval "${visibleName(id)}" does not exist: see devtool approvals list`,
      );
    }
    return rule ? ExitCode.OK : ExitCode.FAILED;
  });
}

function describe(rule: PolicyRule): string {
  return `${visibleName(describeRule(rule))} in ${visibleName(rule.workspace)}`;
}

/**
 * Opens the approvals of the servers that use a data directory: those of their
 * database, or of the directory.
 */
async function withApprovals(
  { data, config, store: flag }: ApprovalsOptions,
  io: Io,
  use: (approvals: SavedApprovals) => Promise<number>,
): Promise<number> {
  const directory = resolve(data ?? defaultDataDirectory(io.env));
  const onNotice = (text: string): void =>
    writeLine(io.stderr, `devtool: ${indented(text)}`);
  const { openStore } = storeOptions(
    flag,
    await operatorConfig(config, directory),
  );
  await using store = await openStore?.({ dataDirectory: directory });
  return await use(
    store?.shared
      ? new SavedApprovals(store.shared.approvals, onNotice)
      : await SavedApprovals.open(directory, onNotice),
  );
}
