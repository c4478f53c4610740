import { create } from "@bufbuild/protobuf";
import { NoticeSchema, PushFormat } from "@devtool/schema";
import { shownEncoding } from "../handler/push-handler.ts";
import type { Clock } from "../push/clock.ts";
import { createGuardedPoster } from "../push/guarded-poster.ts";
import { type PushEncoding, taskEventEncoding } from "../push/push-format.ts";
import { PushNotifier } from "../push/push-notifier.ts";
import { PushRegistrar } from "../push/push-registrar.ts";
import type { SigningKeys } from "../push/signing-keys.ts";
import { keyOf, type PushConfigStore } from "../store/push-config-store.ts";
import type { TaskStore } from "../store/task-store.ts";
import type { SessionRegistry } from "../task/session-registry.ts";
import { A2A_V1_PUSH_ENCODINGS } from "../transport/a2a-v1/push-configs.ts";
import { A2A_V03_PUSH_ENCODINGS } from "../transport/a2a-v03/push-configs.ts";

/** What notifications are made of. */
export interface NotificationsOptions {
  readonly store: TaskStore;
  readonly configs: PushConfigStore;
  /** Finds the open tasks, whose logs say when a config is given up. */
  readonly registry: SessionRegistry;
  /** What posts are signed with. */
  readonly keys: SigningKeys;
  /** What may be posted to although it is not public or not https, as `host:port`. */
  readonly pushTargets: readonly string[];
  /** The ports of this server, which nothing is posted to. */
  readonly ownPorts: () => readonly number[];
  /** Where clients reach this server. */
  readonly issuer: () => string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly nextId: () => string;
  readonly onError: (reason: unknown) => void;
}

/** Notifications of a server: who takes configs, and who posts. */
export interface Notifications {
  readonly registrar: PushRegistrar;
  readonly notifier: PushNotifier;
}

/** Puts together what notifies clients that went away. Begins to post with `notifier.start()`. */
export function createNotifications(options: NotificationsOptions): Notifications {
  const { store, configs, keys, clock, random, onError, nextId } = options;
  const allowing = (target: string): string => `--push-target ${target} (push_targets)`;
  const policy = { allowedHosts: options.pushTargets, ownPorts: options.ownPorts, allowing };
  const now = (): number => clock.now();
  const encodings = new Map(ENCODINGS.map(([format, encoding]) => [format, shownEncoding(encoding)]));
  const notifier = new PushNotifier({
    ...{ store, configs, clock, random, encodings, onError },
    poster: createGuardedPoster({ policy, keys, issuer: options.issuer, now }),
    onEnded: (subscription, text) => {
      noteIn(options.registry, keyOf(subscription).taskId, text).catch(onError);
    },
  });
  return { notifier, registrar: new PushRegistrar({ configs, notifier, encodings, policy, nextId }) };
}

/** What is posted in each format. */
const ENCODINGS: readonly (readonly [PushFormat, PushEncoding])[] = [
  [PushFormat.TASK_EVENT, taskEventEncoding],
  ...A2A_V03_PUSH_ENCODINGS,
  ...A2A_V1_PUSH_ENCODINGS,
];

/** Says in a task's log what its clients should know of their notifications. */
async function noteIn(registry: SessionRegistry, taskId: string, text: string): Promise<void> {
  using held = await registry.get(taskId);
  await held?.session.log.append([{ payload: { case: "notice", value: create(NoticeSchema, { text }) } }]);
}
