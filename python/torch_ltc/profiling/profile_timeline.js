// Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The timeline of a profile's page: a canvas with a row for each kind of span. A row's
// spans are sorted by their start; what is less than a point wide is drawn once a point.
const timeline = (() => {
  const { names, rows, left_out: leftOut } = profile.timeline;
  const canvas = $("timeline"), rowHeight = 26, left = 150, top = 20;
  const palette = ["#4c8bf5", "#0f9d58", "#e8710a", "#7b61d9", "#12a4af", "#c5221f", "#b39ddb", "#f6bf26"];
  // Behind the last part is what the profile itself did at its end.
  const whole = () => steps.length ? [steps[0].start, steps[steps.length - 1].end] : [0, Math.max(1, profile.duration)];
  // At first, the last step whose ops there are, with those beside it.
  const near = () => {
    const behind = (row) => row.spans[row.spans.length - 3], ops = rows.find((row) => row.title.endsWith(": ops"));
    if (!ops || !steps.length) return whole();
    const known = Math.min(...rows.filter((row) => !/: (ops|kernels)$/.test(row.title)).map(behind));
    let op = ops.spans.length - 3;
    while (op > 0 && ops.spans[op] > known) op -= 3;
    const of = Math.max(0, steps.findIndex((step) => step.end > ops.spans[op]));
    return [steps[Math.max(0, of - 1)].start, steps[Math.min(steps.length - 1, of + 1)].end];
  };
  let [from, to] = near(), drawn = 0;

  // With as many digits as tell the times that are seen from each other.
  const moment = (value) => (value / 1e6).toFixed(Math.max(0, Math.ceil(1 - Math.log10((to - from) / 4e6))));

  function colorOf(name) {
    const first = names[name].split(" ")[0];
    if (first === "step") return colors.outside;
    if (colors[first]) return colors[first];
    let sum = 0;
    for (const letter of names[name]) sum = (sum * 31 + letter.charCodeAt(0)) % 9973;
    return palette[sum % palette.length];
  }
  const fills = names.map((_, name) => colorOf(name));
  const isLight = new Set(["#b39ddb", "#f6bf26", colors.outside]);

  // By span, how far it and those before it reach: spans of a row may lie in one another.
  for (const row of rows) {
    row.reach = new Float64Array(row.spans.length / 3);
    for (let at = 0, most = 0; at < row.reach.length; ++at)
      row.reach[at] = most = Math.max(most, row.spans[3 * at] + row.spans[3 * at + 1]);
  }
  // The place of the first span of a row that reaches behind a time.
  function firstIn(row, time) {
    let low = 0, high = row.reach.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row.reach[middle] < time) low = middle + 1; else high = middle;
    }
    return 3 * low;
  }

  function draw() {
    const scale = window.devicePixelRatio || 1, width = canvas.clientWidth;
    if (!width) return;
    canvas.style.height = `${top + rows.length * rowHeight + 4}px`;
    canvas.width = width * scale; canvas.height = canvas.clientHeight * scale;
    const ctx = canvas.getContext("2d"), ink = getComputedStyle(document.body).color;
    ctx.scale(scale, scale);
    ctx.font = "12px system-ui"; ctx.textBaseline = "middle";
    const x = (at) => left + (at - from) / (to - from) * (width - left);
    ctx.fillStyle = ink;
    const marks = Math.max(1, Math.min(4, Math.floor((width - left) / 120)));
    for (let mark = 0; mark <= marks; ++mark) {
      ctx.textAlign = mark === marks ? "right" : "left";
      ctx.fillText(`${moment(from + (to - from) * mark / marks)} ms`, left + (width - left) * mark / marks, 9);
    }
    drawn = 0;
    rows.forEach((row, index) => {
      const y = top + index * rowHeight, spans = row.spans;
      ctx.fillStyle = ink; ctx.textAlign = "left";
      ctx.fillText(row.title, 0, y + rowHeight / 2);
      ctx.fillRect(left, y + rowHeight - 1, width - left, 0.2);
      let point = -1;
      for (let at = firstIn(row, from); at < spans.length && spans[at] <= to; at += 3) {
        const begin = Math.max(left, x(spans[at])), end = Math.min(width, x(spans[at] + spans[at + 1]));
        if (end < left || (end - begin < 1 && Math.floor(end) === point)) continue;
        point = Math.floor(end);
        ++drawn;
        ctx.fillStyle = fills[spans[at + 2]];
        ctx.fillRect(begin, y + 2, Math.max(1, end - begin - (end - begin > 3 ? 1 : 0)), rowHeight - 5);
        if (end - begin > 40) {
          ctx.save();
          ctx.beginPath(); ctx.rect(begin, y, end - begin - 3, rowHeight); ctx.clip();
          ctx.fillStyle = isLight.has(fills[spans[at + 2]]) ? "#000" : "#fff"; ctx.fillText(names[spans[at + 2]], begin + 4, y + rowHeight / 2);
          ctx.restore();
        }
      }
    });
  }

  const timeAt = (event) => {
    const box = canvas.getBoundingClientRect();
    return from + Math.max(0, event.clientX - box.left - left) / (box.width - left) * (to - from);
  };
  function spanAt(event) {
    const row = rows[Math.floor((event.clientY - canvas.getBoundingClientRect().top - top) / rowHeight)];
    if (!row) return null;
    const time = timeAt(event), reach = 2 * (to - from) / canvas.clientWidth;
    let found = null;  // the innermost
    for (let at = firstIn(row, time - reach); at < row.spans.length && row.spans[at] <= time + reach; at += 3)
      if (row.spans[at] + row.spans[at + 1] >= time - reach) found = at;
    return found === null ? null : { row, at: found };
  }
  function show(found) {
    $("span").textContent = found ? `${names[found.row.spans[found.at + 2]]}: ` +
      `${time(found.row.spans[found.at + 1])} ms, from ${moment(found.row.spans[found.at])} ms on (${found.row.title})`
      : leftOut ? `${leftOut} spans were too many for this page: all are in trace.json` : "";
  }
  function look(begin, end) {
    const [least, most] = [0, Math.max(profile.duration, 1)];
    const length = Math.min(Math.max(end - begin, 100), most - least);
    from = Math.min(Math.max(begin, least), most - length);
    to = from + length;
    draw();
  }
  let pressed = null;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const middle = timeAt(event), factor = Math.exp(event.deltaY / 400);
    look(middle - (middle - from) * factor, middle + (to - middle) * factor);
  }, { passive: false });
  canvas.addEventListener("mousedown", (event) => { pressed = { x: event.clientX, from, to }; });
  window.addEventListener("mouseup", () => { pressed = null; });
  canvas.addEventListener("mousemove", (event) => {
    if (!pressed) { show(spanAt(event)); return; }
    const moved = (event.clientX - pressed.x) / (canvas.clientWidth - left) * (pressed.to - pressed.from);
    look(pressed.from - moved, pressed.to - moved);
  });
  canvas.addEventListener("dblclick", () => look(...whole()));
  canvas.addEventListener("keydown", (event) => {
    const tenth = (to - from) / 10;
    const moves = { ArrowLeft: [-tenth, -tenth], ArrowRight: [tenth, tenth], "+": [tenth, -tenth], "-": [-tenth, tenth] };
    const move = moves[event.key];
    if (move) { event.preventDefault(); look(from + move[0], to + move[1]); }
  });
  show(null);
  return { draw, look, view: () => [from, to], drawn: () => drawn, rows };
})();
