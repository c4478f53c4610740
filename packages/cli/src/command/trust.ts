import { resolve } from "node:path";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { TrustStore, Workspace } from "@devtool/coding-agent/operator";
import { defaultDataDirectory } from "../connection/discovery.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal, writeLine } from "../io.ts";
import { createQuestioner } from "../prompter.ts";
import { countOf } from "../render/count.ts";
import { visibleName } from "../render/style.ts";

/** The options of `devtool trust`. */
interface TrustOptions {
  readonly data?: string;
  /** Whether to trust without asking. */
  readonly yes?: true;
}

/**
 * `devtool trust add`: shows the configuration of a directory, asks, and trusts
 * it as it is.
 *
 * The stored hashes are those that were shown, even if a file changes
 * meanwhile.
 */
export async function trustAdd(
  directory: string,
  options: TrustOptions,
  io: Io,
): Promise<number> {
  const store = openTrustStore(options, io);
  const grant = await store.preview(resolve(directory));
  writeLine(
    io.stdout,
    `These files of ${visibleName(grant.path)} will instruct and configure agents:`,
  );
  if (grant.files.length === 0) {
    writeLine(
      io.stdout,
      "  none yet; files that are added later must be trusted again",
    );
  }
  for (const { path, sha256 } of grant.files) {
    const hash = Buffer.from(sha256).toString("hex").slice(0, 16);
    writeLine(io.stdout, `  ${visibleName(path)}  sha256 ${hash}`);
  }
  let isAgreed = options.yes === true;
  if (!isAgreed && io.interactive) {
    using interrupt = interruptSignal(io);
    const question = { prompt: "Trust them? [y/N] > ", takesWords: false };
    const answer = await createQuestioner(io).ask(question, interrupt.signal);
    isAgreed = answer?.text === "y" || answer?.text === "yes";
  }
  if (!isAgreed) {
    writeLine(
      io.stderr,
      "not trusted: look at the files, then answer y or pass --yes",
    );
    return ExitCode.CANCELED;
  }
  await store.grant(grant);
  writeLine(
    io.stdout,
    `trusted ${visibleName(grant.path)} until one of these files changes`,
  );
  return ExitCode.OK;
}

/**
 * `devtool trust list`: lists trusted directories, and whether their
 * configuration has changed since.
 */
export async function trustList(
  options: TrustOptions,
  io: Io,
): Promise<number> {
  const store = openTrustStore(options, io);
  const grants = await store.list();
  if (grants.length === 0) {
    writeLine(
      io.stderr,
      "no directory is trusted: trust one with devtool trust add DIR",
    );
  }
  for (const { path, time, files } of grants) {
    const { case: now } = await store.trustOf(path);
    const since = time ? timestampDate(time).toISOString() : "";
    writeLine(
      io.stdout,
      `${now === "trusted" ? "trusted" : "changed"}  ${since}  ${visibleName(path)}  ${countOf(files.length, "file")}`,
    );
  }
  return ExitCode.OK;
}

/** `devtool trust remove`: stops trusting a directory. */
export async function trustRemove(
  directory: string,
  options: TrustOptions,
  io: Io,
): Promise<number> {
  const path = resolve(directory);
  if (await openTrustStore(options, io).revoke(path)) {
    writeLine(io.stdout, `no longer trusted: ${visibleName(path)}`);
    return ExitCode.OK;
  }
  writeLine(
    io.stderr,
    `${visibleName(path)} was not trusted: see devtool trust list`,
  );
  return ExitCode.FAILED;
}

function openTrustStore({ data }: TrustOptions, io: Io): TrustStore {
  return new TrustStore({
    dataDirectory: resolve(data ?? defaultDataDirectory(io.env)),
    openDirectory: (path) => new Workspace(path),
    now: () => new Date(),
  });
}
