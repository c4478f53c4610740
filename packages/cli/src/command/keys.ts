import { join, resolve } from "node:path";
import { type KeyState, keyFile, SigningKeys } from "@devtool/server/operator";
import { operatorConfig } from "../agents/agent-options.ts";
import { defaultDataDirectory } from "../connection/discovery.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, writeLine } from "../io.ts";
import { visibleName } from "../render/style.ts";
import { storeOptions } from "../store-options.ts";

/** The options of `devtool keys`. */
interface KeysOptions {
  readonly data?: string;
  readonly config?: string;
  readonly store?: string;
}

/** `devtool keys list`: lists the published signing keys, oldest first. */
export async function keysList(options: KeysOptions, io: Io): Promise<number> {
  return withKeys(options, io, async (keys) =>
    writeKeys(await keys.list(), io),
  );
}

/**
 * `devtool keys rotate`: makes the next signing key now. Servers that run find
 * it within a minute.
 */
export async function keysRotate(
  options: KeysOptions,
  io: Io,
): Promise<number> {
  return withKeys(options, io, async (keys) => {
    await keys.replaceKey();
    writeKeys(await keys.list(), io);
  });
}

/**
 * `devtool keys revoke`: removes a signing key that was stolen. Servers that
 * run notice within a minute.
 */
export async function keysRevoke(
  keyId: string,
  options: KeysOptions,
  io: Io,
): Promise<number> {
  return withKeys(options, io, async (keys) => {
    await keys.revokeKey(keyId);
    writeKeys(await keys.list(), io);
  });
}

function writeKeys(keys: readonly KeyState[], io: Io): void {
  if (keys.length === 0) {
    writeLine(io.stderr, "there are no keys: a server makes one when it signs");
  }
  for (const { keyId, createdMs, use, untilMs } of keys) {
    const until = untilMs === undefined ? "" : timeOf(untilMs);
    const state = {
      next: `signs from ${until}`,
      signs: until === "" ? "signs" : `signs until ${until}`,
      previous: `published until ${until}`,
    }[use];
    writeLine(
      io.stdout,
      `${visibleName(keyId)}  made ${timeOf(createdMs)}  ${state}`,
    );
  }
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

/**
 * Opens the keys of the servers that use a data directory: those of their
 * database, or of the directory.
 */
async function withKeys(
  { data, config, store: flag }: KeysOptions,
  io: Io,
  use: (keys: SigningKeys) => Promise<void>,
): Promise<number> {
  const directory = resolve(data ?? defaultDataDirectory(io.env));
  const { openStore } = storeOptions(
    flag,
    await operatorConfig(config, directory),
  );
  await using store = await openStore?.({ dataDirectory: directory });
  const storage =
    store?.shared?.keys ?? keyFile(join(directory, "signing-keys.json"));
  await use(new SigningKeys({ storage, now: Date.now }));
  return ExitCode.OK;
}
