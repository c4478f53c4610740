import type { BrowserSessions } from "../handler/browser-sessions.ts";
import { OPERATOR } from "../handler/caller.ts";
import { ListedChanges } from "../handler/listed-changes.ts";
import type { Watchable } from "../handler/task-list.ts";
import { WebPushNotifier } from "../push/web-push-notifier.ts";
import type { ServerSettings } from "../server-options.ts";
import type { GoneTask } from "../store/task-changes.ts";
import type { ListedTask } from "../store/task-store.ts";
import { rightsOfRoles } from "../transport/auth/role-authenticator.ts";
import { type PushPolicyOptions, pushPolicy } from "./notifications.ts";
import type { ServerCore, Surroundings } from "./server-core.ts";

/**
 * Creates what notifies browsers while their pages are closed. It begins with
 * `start()`.
 */
export function createWebPush(
  browsers: BrowserSessions,
  { store, registry, operations }: ServerCore,
  { authentication, pushTargets = [] }: ServerSettings,
  { publicUrl, ownPorts, clock, random, onError }: Surroundings,
): WebPushNotifier {
  const { roles = [] } = authentication ?? {};
  const policy: PushPolicyOptions = { pushTargets, ownPorts };
  return new WebPushNotifier({
    ...{ browsers, store, clock, random, onError, operations },
    sender: {
      policy: pushPolicy(policy),
      key: () => browsers.webPushKey(),
      issuer: publicUrl,
      now: () => clock.now(),
    },
    mayRead: (browser) =>
      roles.length === 0 ||
      browser.principal === OPERATOR.principal ||
      rightsOfRoles(browser.roles, roles).rights.has("read"),
    changes: (onBegin, signal) => {
      const changes = store.shared?.changes;
      const { feed } = registry;
      return changesOfAll({ store, feed, changes }, onBegin, signal);
    },
  });
}

/**
 * Yields each task that changes, here or at another server of the store, and
 * deleted tasks, until the signal aborts. Calls `onBegin` once it misses no
 * change.
 */
export async function* changesOfAll(
  { store, feed, changes }: Watchable,
  onBegin: () => Promise<void>,
  signal: AbortSignal,
): AsyncIterable<ListedTask | GoneTask> {
  using watch = feed.watch(undefined);
  const others = changes && (await ListedChanges.begin(store, undefined));
  await onBegin();
  // It ends with the signal alone, so nothing may fail after it has begun.
  if (changes) void others?.follow(changes, watch, signal);
  yield* watch.read(signal);
}
