import type { TaskItem } from "@devtool/client";
import { MessageList, type TaskHandle } from "@devtool/react";
import { TaskState } from "@devtool/schema";
import { type ReactNode, useCallback } from "react";
import { useStickToBottom } from "use-stick-to-bottom";
import { Approval } from "./approval.tsx";
import { Artifacts } from "./artifacts.tsx";
import type { ConsoleClient } from "./console-client.ts";
import { Goal } from "./goal.tsx";
import { Item } from "./item.tsx";
import { usePaced } from "./paced.ts";
import { messageOf } from "./place.ts";
import { Plan } from "./plan.tsx";
import { Queue, Unsent } from "./queue.tsx";
import { questionKey, useSettled } from "./settled.ts";
import { words } from "./words.ts";
import { WorkflowGraph } from "./workflow-graph.tsx";

interface ConversationProps {
  readonly client: ConsoleClient;
  readonly task: TaskHandle;
  /** Whether the agent goes on from before any message of its user. */
  readonly canFork: boolean;
}

/** Space above a question in pixels. */
const MARGIN = 12;

/**
 * What was said and done, the questions that wait, and what is still on its
 * way. It stays at its end unless the user scrolls up. The end is the beginning
 * of the first question, where that does not fit: the answers come behind all
 * that they are for.
 */
export function Conversation({
  client,
  task: handle,
  canFork,
}: ConversationProps): ReactNode {
  const { task, questions, plan, notice, unsent, answer } = handle;
  const { items, isBehind, isOpening } = usePaced(handle.items);
  const { scrollRef, contentRef, isAtBottom, scrollToBottom } =
    useStickToBottom({
      initial: "instant",
      resize: "instant",
      targetScrollTop: (bottom, { scrollElement }) =>
        Math.min(bottom, topOfQuestion(scrollElement)),
    });
  // Text, so that items are rendered again only when there is another one.
  const forGoals = task.history
    .flatMap(({ forGoal }, index) => (forGoal ? index : []))
    .join();
  const renderItem = useCallback(
    (item: TaskItem) => {
      const isForGoal = forGoals
        .split(",")
        .includes(`${messageOf(item).index}`);
      return <Item item={item} canFork={canFork && !isForGoal} />;
    },
    [canFork, forGoals],
  );
  // An artifact that is the plan is shown as one.
  const made =
    plan.length > 0
      ? task.artifacts.filter(({ name }) => name !== "Plan")
      : task.artifacts;
  // What is still added above a question moves it.
  const isSettled = useSettled(isBehind ? [] : questions) && !isBehind;
  return (
    <div className="conversation">
      <div
        className="scroll"
        ref={scrollRef}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can have the focus
        tabIndex={0}
        role="log"
        aria-label={words.conversation}
        aria-busy={isBehind || task.state === TaskState.WORKING}
      >
        <div
          className={isOpening ? "column opening" : "column"}
          ref={contentRef}
        >
          <MessageList items={items} renderItem={renderItem} />
          <Artifacts artifacts={made} />
          {plan.length > 0 && <Plan steps={plan} />}
          <WorkflowGraph task={task} />
          <Goal client={client} task={task} />
          {task.stateText && <p className="state-text">{task.stateText}</p>}
          {task.error && <p className="problem">{task.error}</p>}
          {notice && <p className="notice">{notice.text}</p>}
          {questions.map((question) => (
            <Approval
              key={questionKey(question)}
              question={question}
              isSettled={isSettled}
              answer={answer}
            />
          ))}
          <Queue client={client} task={task} />
          <Unsent messages={unsent} />
        </div>
      </div>
      {!isAtBottom && (
        <button
          type="button"
          className="to-bottom"
          onClick={() => {
            // The button goes.
            scrollRef.current?.focus({ preventScroll: true });
            void scrollToBottom();
          }}
        >
          {words.toBottom} ↓
        </button>
      )}
    </div>
  );
}

/**
 * Returns how far down the first question begins in what scrolls; infinite
 * without a question.
 */
function topOfQuestion(scrolling: HTMLElement): number {
  const [question] = scrolling.getElementsByClassName("approval");
  if (!question) return Number.POSITIVE_INFINITY;
  const distance =
    question.getBoundingClientRect().top -
    scrolling.getBoundingClientRect().top;
  return scrolling.scrollTop + distance - MARGIN;
}
