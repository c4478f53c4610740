import { create } from "@bufbuild/protobuf";
import {
  GoalProgressSchema,
  GoalState,
} from "./gen/devtool/v1alpha/goal_pb.ts";
import {
  type Message,
  Role,
  type Task,
} from "./gen/devtool/v1alpha/task_pb.ts";
import { confirmationsOf } from "./tool-call.ts";

/**
 * Begins the goal that a message has. A message to a task whose goal needs the
 * user goes on with it.
 */
export function withGoal(task: Task, message: Message): Task {
  const goal = message.goal;
  const isAnswered =
    task.goalProgress?.state === GoalState.BLOCKED &&
    message.role === Role.USER &&
    confirmationsOf(message).length === 0;
  if (goal === undefined && !isAnswered) return task;
  const { turns = 0, checks = [] } =
    (goal ? undefined : task.goalProgress) ?? {};
  const state = GoalState.ACTIVE;
  const goalProgress = create(GoalProgressSchema, { state, turns, checks });
  return { ...task, ...(goal && { goal }), goalProgress };
}
