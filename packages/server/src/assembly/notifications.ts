import { PushFormat } from "@devtool/schema";
import type { OpenTasks } from "../fleet/open-tasks.ts";
import {
  hideSecretsInEvent,
  hideSecretsInTask,
} from "../handler/hide-secrets.ts";
import type { SigningKeys } from "../keys/signing-keys.ts";
import type { Operations } from "../operations.ts";
import type { OutboundPolicy } from "../outbound/outbound-policy.ts";
import type { Clock } from "../push/clock.ts";
import { createGuardedPoster } from "../push/guarded-poster.ts";
import {
  type PushEncoding,
  type PushEncodings,
  taskEventEncoding,
} from "../push/push-format.ts";
import { PushNotifier } from "../push/push-notifier.ts";
import { PushRegistrar } from "../push/push-registrar.ts";
import { pushConfigKey } from "../store/push-config-store.ts";
import type { ServerStore } from "../store/task-store.ts";
import { TaskPush } from "./task-push.ts";

/** What decides where a server may post. */
export interface PushPolicyOptions {
  /**
   * Targets that are allowed although they are not public or not https, as
   * `host:port`.
   */
  readonly pushTargets: readonly string[];
  /** Returns the ports of this server, to which nothing is posted. */
  readonly ownPorts: () => readonly number[];
}

interface NotificationsOptions extends PushPolicyOptions {
  readonly store: ServerStore;
  /** Opens the task whose log records that a config has ended. */
  readonly registry: OpenTasks;
  /** The keys that sign posts. */
  readonly keys: SigningKeys;
  /** The URL at which clients reach this server. */
  readonly issuer: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly nextId: () => string;
  readonly onError: (reason: unknown) => void;
  /** What the server's observer hears. */
  readonly operations: Operations | undefined;
}

/** The push notifications of a server. */
export interface Notifications {
  /** Accepts push configs. */
  readonly registrar: PushRegistrar;
  /** Posts events to the configs. */
  readonly notifier: PushNotifier;
  /**
   * Has each task posted for by the server that runs it; undefined when this
   * one has the store alone.
   */
  readonly tasks: TaskPush | undefined;
}

/**
 * Creates the push notifications of a server. Posting begins with
 * `notifier.start()`.
 */
export function createNotifications(
  options: NotificationsOptions,
): Notifications {
  const { store, registry, keys, clock, random, onError, nextId, issuer } =
    options;
  const { shared, pushConfigs: configs } = store;
  const fences = new Map<string, bigint>();
  const policy = pushPolicy(options);
  const notifier = new PushNotifier({
    store,
    configs,
    clock,
    random,
    encodings: ENCODINGS,
    onError,
    fenceOf: shared && ((taskId) => fences.get(taskId)),
    operations: options.operations,
    poster: createGuardedPoster({
      policy,
      keys,
      issuer,
      now: () => clock.now(),
    }),
    onEnded: async (subscription, text) => {
      try {
        using held = await registry.get(pushConfigKey(subscription).taskId);
        await held?.handle.addNotice(text);
      } catch (reason) {
        onError(reason);
      }
    },
  });
  registry.feed.observe(
    (taskId) => notifier.wake(taskId),
    (taskId) => void notifier.abandon(taskId).catch(onError),
  );
  const tasks =
    shared && new TaskPush({ notifier, registry, shared, fences, onError });
  if (tasks) registry.accompany(tasks);
  const registrar = new PushRegistrar({
    configs,
    notifier: tasks ?? notifier,
    encodings: ENCODINGS,
    policy,
    nextId,
  });
  return { notifier, tasks, registrar };
}

/** Returns the policy for the targets of notifications. */
export function pushPolicy({
  pushTargets,
  ownPorts,
}: PushPolicyOptions): OutboundPolicy {
  return {
    allowedHosts: pushTargets,
    ownPorts,
    allowing: (target) => `--push-target ${target} (push_targets)`,
  };
}

/**
 * The forms of notifications for configs set over A2A. What encodes them is
 * loaded by the first post: most servers have no webhook.
 */
const A2A_FORMS = [
  {
    formats: [
      PushFormat.A2A_V03,
      PushFormat.A2A_V03_PLAIN,
      PushFormat.A2A_V03_INHERITED,
    ],
    contentType: "application/json",
    load: () => import("../transport/a2a-v03/push-encodings.ts"),
  },
  {
    formats: [
      PushFormat.A2A_V1,
      PushFormat.A2A_V1_PLAIN,
      PushFormat.A2A_V1_INHERITED,
    ],
    contentType: "application/a2a+json",
    load: () => import("../transport/a2a-v1/push-encodings.ts"),
  },
];

const A2A_ENCODINGS = A2A_FORMS.flatMap(({ formats, contentType, load }) =>
  formats.map((format): [PushFormat, PushEncoding] => {
    const encode: PushEncoding["encode"] = async (event, readTask) =>
      (await load()).encodePost(format, event, readTask);
    return [format, { contentType, encode }];
  }),
);

/**
 * The body of a post in each format. It contains no secrets of a session's MCP
 * servers (S12).
 */
const ENCODINGS: PushEncodings = new Map(
  [[PushFormat.TASK_EVENT, taskEventEncoding] as const, ...A2A_ENCODINGS].map(
    ([format, { contentType, encode }]) => [
      format,
      {
        contentType,
        encode: (event, readTask) =>
          encode(hideSecretsInEvent(event), async () =>
            hideSecretsInTask(await readTask()),
          ),
      },
    ],
  ),
);
