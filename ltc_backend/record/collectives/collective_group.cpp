//===- collectives/collective_group.cpp - A group's ranks -----------------===//
//
// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ltc_backend/record/collectives/collective_group.h"

#include "ltc/thread.h"
#include "ltc_backend/record/collectives/gloo_tags.h"

#include <ATen/ATen.h>
#include <c10/util/env.h>

#include <algorithm>
#include <charconv>
#include <future>

namespace ltc::backend {
using std::chrono::milliseconds, std::chrono::seconds;

constexpr milliseconds kPatience{1000};
constexpr seconds kLongestPause{30}, kLongestAnswer{3};
/// One store answers all ranks: together they ask it so often.
constexpr int kAsksPerSecond = 200;

CollectiveGroup::CollectiveGroup(
    c10d::ProcessGroup &group, const c10::intrusive_ptr<c10d::Backend> &backend)
    : rank(group.getRank()), size(group.getSize()), backend(backend),
      store(group.getStore()) {}

bool CollectiveGroup::isOf(const c10d::Backend &other) const {
  return !isOver() && backend._unsafe_get_target() == &other;
}

void CollectiveGroup::place(Meeting &collective) {
  std::lock_guard lock(mutex);
  collective.number = ++collectives;
  collective.place = std::to_string(collectives);
}

void CollectiveGroup::place(Meeting &message, int64_t from, int64_t to,
                            int64_t tag) {
  constexpr size_t kMostTags = 4096; // of a program that numbers its messages
  std::string pair = std::to_string(from) + ">" + std::to_string(to) + " tag " +
                     std::to_string(tag);
  std::lock_guard lock(mutex);
  if (messages.size() < kMostTags || messages.contains(pair))
    message.place = pair + " " + std::to_string(++messages[pair]);
}

void CollectiveGroup::skipTags(uint64_t hash) {
  if (auto gloo = backend.lock())
    ltc::backend::skipTags(*gloo, hash);
}

uint64_t CollectiveGroup::begin(const Meeting &meeting) {
  std::lock_guard lock(mutex);
  if (meeting.number)
    last = meeting;
  waiting[++calls] = {meeting, Clock::now() + kPatience, kPatience};
  return calls;
}

void CollectiveGroup::end(uint64_t call) {
  std::lock_guard lock(mutex);
  auto found = waiting.find(call);
  if (found == waiting.end())
    return;
  if (found->second.isTold)
    ended.push_back(found->second.meeting.place);
  waiting.erase(found);
}

bool CollectiveGroup::knowsDifference() {
  std::lock_guard lock(mutex);
  return !difference.empty();
}

/// Restarted ranks may find what the first ones left.
static std::string attempt() {
  return c10::utils::get_env("TORCHELASTIC_RESTART_COUNT").value_or("0");
}

std::string CollectiveGroup::key(const std::string &place) const {
  return "ltc/" + attempt() + "/" + place;
}

/// "all_reduce(f32[4], sum) at train.py:12 in <module>"
static std::string callAndLine(const Meeting &meeting) {
  std::string line = sourceOf(meeting.source).str();
  return meeting.call + (line.empty() ? "" : " at " + line);
}

// What must not differ, and what is told if it does.
std::string CollectiveGroup::record(const Meeting &meeting) const {
  return meeting.match + "\nrank " + std::to_string(rank) + " " +
         callAndLine(meeting);
}

bool CollectiveGroup::compare(const Meeting &meeting) {
  auto shared = store.lock();
  if (!shared || meeting.place.empty())
    return false;
  std::string place = key(meeting.place), other = place + "/other";
  std::string mine = record(meeting);
  std::string first = shared->compareSet(place, "", mine), second = mine;
  if (first.substr(0, first.find('\n')) != meeting.match)
    shared->set(other, mine);
  else if (shared->check({other}))
    second = shared->get_to_str(other);
  else
    return false;
  std::lock_guard lock(mutex);
  if (difference.empty())
    difference = "ranks call different things in one place: " +
                 first.substr(first.find('\n') + 1) + ", " +
                 second.substr(second.find('\n') + 1);
  return true;
}

std::vector<Meeting> CollectiveGroup::due() {
  std::lock_guard lock(mutex);
  std::vector<Meeting> found;
  if (isMute || !difference.empty())
    return found;
  auto now = Clock::now();
  for (auto &[call, each] : waiting) {
    if (each.nextLook > now)
      continue;
    found.push_back(each.meeting);
    each.isTold = true;
    each.nextLook = now + each.pause;
    each.pause = std::min<Clock::duration>(2 * each.pause, kLongestPause);
  }
  return found;
}

/// How far this rank is, for those that will wait for it.
void CollectiveGroup::tellLast() {
  Meeting meeting;
  {
    std::lock_guard lock(mutex);
    auto now = Clock::now();
    if (isMute || now < nextTelling || last.place == told)
      return;
    told = last.place;
    nextTelling = now + std::max<Clock::duration>(
                            kPatience, seconds(size) / kAsksPerSecond);
    meeting = last;
  }
  if (auto shared = store.lock())
    shared->set(key("rank " + std::to_string(rank)),
                meeting.place + " " + callAndLine(meeting));
}

/// What has ended well on a rank was the same on all, and is not asked for.
void CollectiveGroup::forgetEnded() {
  std::vector<std::string> places;
  {
    std::lock_guard lock(mutex);
    if (!isMute && difference.empty())
      places.swap(ended);
  }
  auto shared = store.lock();
  for (const std::string &place : places)
    if (shared)
      shared->deleteKey(key(place));
}

void CollectiveGroup::look() {
  try {
    forgetEnded();
    tellLast();
    for (const Meeting &meeting : due())
      if (compare(meeting))
        return abort();
  } catch (const std::exception &) {
    std::lock_guard lock(mutex);
    isMute = true;
  }
}

static uint64_t numberIn(std::string_view told) {
  uint64_t number = 0;
  std::from_chars(told.data(), told.data() + told.size(), number);
  return number;
}

std::string CollectiveGroup::ranksBehind(const Meeting &meeting) {
  constexpr int kAsked = 64, kNamed = 4;
  auto shared = store.lock();
  if (!shared || !meeting.number)
    return {};
  std::string text;
  for (int other = 0, named = 0; other < std::min(size, kAsked); ++other) {
    std::string place = key("rank " + std::to_string(other));
    if (other == rank || named == kNamed || !shared->check({place}))
      continue;
    std::string last = shared->get_to_str(place);
    if (numberIn(last) >= meeting.number)
      continue;
    text += "; rank " + std::to_string(other) +
            " has not called it, as far as is known: its last was " +
            last.substr(last.find(' ') + 1);
    ++named;
  }
  return text;
}

/// Of those that fail together the first that differs may be another.
bool CollectiveGroup::anyDiffers(const Meeting &meeting) {
  constexpr size_t kMostAsked = 8;
  std::vector<Meeting> asked;
  {
    std::lock_guard lock(mutex);
    for (const auto &[call, each] : waiting)
      if (asked.size() < kMostAsked && each.meeting.place != meeting.place)
        asked.push_back(each.meeting);
  }
  asked.push_back(meeting);
  return std::ranges::any_of(
      asked, [&](const Meeting &each) { return compare(each); });
}

CollectiveGroup::Cause CollectiveGroup::findCause(const Meeting &meeting,
                                                  std::string text) {
  try {
    // The others may have known before this rank has looked.
    if (!knowsDifference() && !anyDiffers(meeting))
      return {text + ranksBehind(meeting), false};
  } catch (const std::exception &) {
    return {text, false}; // the store went with the rank that had it
  }
  std::lock_guard lock(mutex);
  return {difference, true};
}

CollectiveGroup::Cause CollectiveGroup::causeOf(const Meeting &meeting,
                                                std::string_view what) {
  std::string text(what.substr(0, what.find('\n')));
  // A store behind a link that is cut answers after minutes.
  std::packaged_task<Cause()> finding(
      [self = shared_from_this(), meeting, text] {
        return self->findCause(meeting, text);
      });
  std::future<Cause> found = finding.get_future();
  startThread(std::move(finding)).detach();
  return found.wait_for(kLongestAnswer) == std::future_status::ready
             ? found.get()
             : Cause{text};
}

// A wait of Gloo's that times out ends all others of its group.
void CollectiveGroup::abort() {
  auto gloo = backend.lock();
  if (!gloo || size == 1)
    return;
  constexpr int kUnusedTag = 0x7fffffff;
  std::vector<at::Tensor> nothing{at::empty({1}, at::kByte)};
  try {
    gloo->recv(nothing, rank == 0 ? 1 : 0, kUnusedTag)->wait(milliseconds(1));
  } catch (const std::exception &) {
    return; // as it should
  }
}

} // namespace ltc::backend
