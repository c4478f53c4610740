/** A list of sessions, or a view of a task. */
interface Followed<Snapshot> {
  readonly snapshot: () => Snapshot;
  readonly subscribe: (listener: () => void) => () => void;
  readonly follow: (signal: AbortSignal) => Promise<void>;
}

/** Waits until what is followed shows something. */
export async function until<Snapshot>(
  followed: Pick<Followed<Snapshot>, "snapshot" | "subscribe">,
  isShown: (snapshot: Snapshot) => boolean,
): Promise<void> {
  const shown = Promise.withResolvers<void>();
  const look = (): void =>
    void (isShown(followed.snapshot()) && shown.resolve());
  const stop = followed.subscribe(look);
  look();
  try {
    await shown.promise;
  } finally {
    stop();
  }
}

/** Follows while work is done, which fails when the following does. */
export async function whileFollowing(
  followed: Pick<Followed<unknown>, "follow">,
  work: () => Promise<void>,
): Promise<void> {
  const controller = new AbortController();
  const reading = followed.follow(controller.signal);
  try {
    await Promise.race([work(), reading]);
  } finally {
    controller.abort();
    await reading;
  }
}
