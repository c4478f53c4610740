import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { NoticeSchema, PushFormat } from "@devtool/schema";
import { shownEncoding } from "../handler/push-handler.ts";
import type { Clock } from "../push/clock.ts";
import { createGuardedPoster } from "../push/guarded-poster.ts";
import { type PushEncoding, taskEventEncoding } from "../push/push-format.ts";
import { PushNotifier } from "../push/push-notifier.ts";
import { PushRegistrar } from "../push/push-registrar.ts";
import { SigningKeys } from "../push/signing-keys.ts";
import { keyOf, type PushConfigStore } from "../store/push-config-store.ts";
import type { TaskStore } from "../store/task-store.ts";
import type { SessionRegistry } from "../task/session-registry.ts";

/** What notifications are made of. */
export interface NotificationsOptions {
  readonly store: TaskStore;
  readonly configs: PushConfigStore;
  /** Finds the open tasks, whose logs say when a config is given up. */
  readonly registry: () => SessionRegistry;
  /** What is posted in the formats of the dialects. */
  readonly encodings: readonly (readonly [PushFormat, PushEncoding])[];
  /** Where signing keys are kept; in memory when left out. */
  readonly dataDirectory?: string;
  /** What may be posted to although it is not public or not https, as `host:port`. */
  readonly pushTargets: readonly string[];
  /** The ports of this server, which nothing is posted to. */
  readonly ownPorts: () => readonly number[];
  /** Where this server listens. */
  readonly issuer: () => string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly nextId: () => string;
  readonly onError: (reason: unknown) => void;
}

/** Notifications of a server: who takes configs, who posts, and the keys that receivers ask for. */
export interface Notifications {
  readonly registrar: PushRegistrar;
  readonly notifier: PushNotifier;
  readonly keys: SigningKeys;
}

/** Puts together what notifies clients that went away. Begins to post with `notifier.start()`. */
export function createNotifications(options: NotificationsOptions): Notifications {
  const { store, configs, clock, random, onError, nextId, dataDirectory } = options;
  const policy = { allowedHosts: options.pushTargets, ownPorts: options.ownPorts };
  const now = (): number => clock.now();
  const keys = new SigningKeys({
    now,
    ...(dataDirectory !== undefined && { file: join(dataDirectory, "signing-keys.json") }),
  });
  const encodings = encodingsOf(options.encodings);
  const notifier = new PushNotifier({
    ...{ store, configs, clock, random, encodings, onError },
    poster: createGuardedPoster({ policy, keys, issuer: options.issuer, now }),
    onEnded: (subscription, text) => {
      noteIn(options.registry(), keyOf(subscription).taskId, text).catch(onError);
    },
  });
  return { keys, notifier, registrar: new PushRegistrar({ configs, notifier, encodings, policy, nextId }) };
}

function encodingsOf(dialects: NotificationsOptions["encodings"]): ReadonlyMap<PushFormat, PushEncoding> {
  const all = [[PushFormat.TASK_EVENT, taskEventEncoding] as const, ...dialects];
  return new Map(all.map(([format, encoding]) => [format, shownEncoding(encoding)]));
}

/** Says in a task's log what its clients should know of their notifications. */
async function noteIn(registry: SessionRegistry, taskId: string, text: string): Promise<void> {
  const session = await registry.get(taskId);
  await session?.log.append([{ payload: { case: "notice", value: create(NoticeSchema, { text }) } }]);
}
