// Charts in place of the pictures, and tables that can be sorted, filtered and saved.
(() => {
"use strict";

// --- small things ------------------------------------------------------------------------------

const dark = matchMedia("(prefers-color-scheme: dark)");
const fine = matchMedia("(pointer: fine)").matches;
const COLOURS = {
  light: ["#0072b2", "#d55e00", "#00946b", "#c0649a", "#d98c00", "#4aa3d8"],
  dark: ["#4aa8e0", "#f08a52", "#35bf93", "#dd8fc0", "#e6b34d", "#9bd4f5"],
};
const GANGS = {
  light: ["#cfe8c3", "#8fd0bb", "#4fb3c4", "#2e84b5", "#254f97", "#0f2a66"],
  dark: ["#26506b", "#2a78a0", "#3d9fc0", "#66c2c2", "#9fdcbf", "#d8f2c6"],
};
const MOST_BUTTONS = 12;
const UNITS = [["s", 1], ["min", 60], ["h", 3600], ["d", 86400]];

function make(tag, of = {}, ...children) {
  const element = Object.assign(document.createElement(tag), of);
  element.append(...children);
  return element;
}

function own(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function palette(colours, k) {
  const known = colours[dark.matches ? "dark" : "light"];
  return known[k % known.length];
}

// Lines beyond the colours come again, dashed.
function dashed(k) {
  return k >= COLOURS.light.length;
}

function number(value, digits = 3) {
  if (!Number.isFinite(value)) return "–";
  const places = Math.abs(value) >= 100 || Number.isInteger(value) ? 0
    : Math.abs(value) >= 1 ? 2 : digits;
  return value.toLocaleString("en-US", {maximumFractionDigits: places});
}

function unitOf(seconds) {
  return [...UNITS].reverse().find(([, size]) => seconds >= size) || UNITS[0];
}

// A time as a person says it; what is not in seconds has its own unit.
function lasting(value, unit) {
  if (unit !== "s") return `${number(value)}${unit ? ` ${unit}` : ""}`;
  const [name, size] = unitOf(Math.abs(value));
  const part = value / size;
  const whole = name === "s" || Math.abs(part) >= 100 || Number.isInteger(part);
  return `${part.toFixed(whole ? 0 : Math.abs(part) >= 10 ? 1 : 2)} ${name}`;
}

function percent(share) {
  return `${(100 * share).toLocaleString("en-US", {maximumFractionDigits: 1})} %`;
}

// What is said below the pointer: a name, and lines of [text, colour].
function hover(head, lines) {
  const box = make("div", {className: "hover"}, make("b", {textContent: head}));
  for (const [text, colour] of lines) {
    const line = make("span");
    if (colour) {
      const mark = make("i");
      mark.style.background = colour;
      line.append(mark);
    }
    line.append(text);
    box.append(line);
  }
  return box;
}

async function read(script) {
  const data = JSON.parse(script.textContent);
  if (!data.packed) return data;
  const bytes = Uint8Array.from(atob(data.packed), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// --- what is switched off, in all charts of the page -------------------------------------------

const off = new Set();
const charts = [];
const key = (kind, name) => `${kind} ${name}`;
const shown = (kind, name) => !off.has(key(kind, name));

function chips(label, kind, names, colour, marked = true) {
  const row = make("div", {className: "chips"}, make("span", {textContent: label}));
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", label);
  const buttons = names.map((name, k) => {
    const button = make("button", {type: "button", className: "chip"});
    button.dataset.kind = kind;
    if (marked) {
      const mark = make("i", {className: dashed(k) && kind === "policy" ? "dashed" : ""});
      button.paint = () => mark.style.setProperty("--own", colour(k));
      button.append(mark);
    }
    button.append(name || "all jobs");
    button.onclick = () => {
      const one = key(kind, name);
      if (!off.delete(one)) off.add(one);
      redraw();
    };
    button.look = () => button.setAttribute("aria-pressed", String(shown(kind, name)));
    row.append(button);
    return button;
  });
  if (names.length > 3) {
    for (const [text, all] of [["all", true], ["none", false]]) {
      const button = make("button", {type: "button", className: "plain", textContent: text});
      button.onclick = () => {
        names.forEach((name) => off[all ? "delete" : "add"](key(kind, name)));
        redraw();
      };
      row.append(button);
    }
  }
  row.look = () => buttons.forEach((button) => {
    button.look();
    if (button.paint) button.paint();
  });
  return row;
}

// Buttons of which one is pressed; a list where they are many.
function choice(label, names, chosen) {
  if (names.length > MOST_BUTTONS) {
    const select = make("select", {onchange: () => chosen(select.selectedIndex)},
      ...names.map((name) => make("option", {textContent: name})));
    return make("label", {className: "chips"}, make("span", {textContent: label}), select);
  }
  const row = make("div", {className: "chips choice"}, make("span", {textContent: label}));
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", label);
  const buttons = names.map((name, k) => {
    const button = make("button", {type: "button", className: "chip", textContent: name});
    button.onclick = () => {
      press(k);
      chosen(k);
    };
    row.append(button);
    return button;
  });
  const press = (k) => buttons.forEach((button, i) => {
    button.setAttribute("aria-pressed", String(i === k));
  });
  press(0);
  return row;
}

function redraw() {
  for (const one of charts) one.draw();
}

// --- axes ---------------------------------------------------------------------------------------

function axis(more) {
  return {
    type: "value",
    axisLine: {show: false},
    axisTick: {show: false},
    axisLabel: {color: own("--muted"), fontSize: 11, hideOverlap: true},
    splitLine: {lineStyle: {color: own("--track")}},
    nameTextStyle: {color: own("--muted"), fontSize: 12},
    nameLocation: "middle",
    ...more,
  };
}

function label(more) {
  return {color: own("--muted"), fontSize: 11, hideOverlap: true, ...more};
}

// Ticks of an axis of logarithms, on which what is drawn is the logarithm.
function logTicks(low, high, unit) {
  const times = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 18000, 36000,
    ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((days) => 86400 * days)];
  const decades = Array.from({length: 16}, (_, k) => 10 ** (k - 3));
  const plain = [...decades, ...decades.flatMap((one) => [2 * one, 5 * one])].sort((a, b) => a - b);
  const within = (ticks) => ticks.filter((tick) => tick >= low && tick <= high);
  if (unit === "s") {
    const few = within([1, 10, 60, 600, 3600, 36000, 4 * 86400, 40 * 86400, 400 * 86400]);
    return few.length > 2 ? few : within(times);
  }
  const tens = within(decades);
  return tens.length > 2 ? tens : within(plain);
}

function xAxis(x, low, high) {
  if (x.names) {
    const every = x.names.map((_, k) => k);
    return axis({
      name: x.name, nameGap: 30, min: -0.3, max: every.length - 0.7, splitLine: {show: false},
      axisLabel: label({customValues: every, formatter: (k) => x.names[k] ?? ""}),
    });
  }
  if (x.log) {
    const ticks = logTicks(low, high, x.unit);
    return axis({
      name: x.name, nameGap: 30, min: Math.log10(low), max: Math.log10(high),
      splitLine: {show: false},
      axisLabel: label({
        customValues: ticks.map(Math.log10),
        formatter: (value) => lasting(Math.round(1e6 * 10 ** value) / 1e6, x.unit),
      }),
    });
  }
  const [unit, size] = x.unit === "s" ? scale(high) : [x.unit, 1];
  return axis({
    name: unit ? `${x.name} (${unit})` : x.name, nameGap: 30, min: low / size, max: high / size,
    axisLabel: label({formatter: (value) => number(value), showMaxLabel: false}),
  });
}

// The unit in which the longest time has some digits.
function scale(seconds) {
  return [...UNITS].reverse().find(([, size]) => seconds >= 3 * size) || UNITS[0];
}

function zooms(more = []) {
  const plain = {
    borderColor: own("--line"), fillerColor: own("--track"), backgroundColor: "transparent",
    handleStyle: {color: own("--card"), borderColor: own("--muted")}, brushSelect: false,
    dataBackground: {lineStyle: {opacity: 0}, areaStyle: {opacity: 0}},
    selectedDataBackground: {lineStyle: {opacity: 0}, areaStyle: {opacity: 0}},
    moveHandleStyle: {color: own("--muted"), opacity: 0.4}, showDetail: false,
  };
  return [
    {type: "inside", xAxisIndex: 0, filterMode: "weakFilter", zoomOnMouseWheel: "ctrl",
      moveOnMouseMove: fine, moveOnMouseWheel: false, preventDefaultMouseMove: fine},
    {...plain, type: "slider", xAxisIndex: 0, filterMode: "weakFilter", height: 18, bottom: 6},
    ...more.map((one) => ({...plain, ...one})),
  ];
}

function tooltip(more) {
  return {
    backgroundColor: own("--card"), borderColor: own("--line"), borderWidth: 1, padding: 10,
    confine: true, textStyle: {color: own("--ink")}, transitionDuration: 0, ...more,
  };
}

// --- lines: distributions, measures over a quantity, what was held over time -------------------

function lines(data, box) {
  let view = 0;
  const {views} = data;
  const kind = data.kind || "policy";
  if (views.length > 1) {
    box.before(choice(data.of, views.map((one) => one.name), (k) => { view = k; redraw(); }));
  }
  const names = [...new Set(views.flatMap((one) => one.series.map(({name}) => name)))];
  const row = chips(data.by, kind, names, (k) => palette(COLOURS, k));
  if (names.length > 1) box.before(row);
  return {
    height: 360,
    option() {
      row.look();
      const {x, y, series} = views[view];
      const every = series.map((one) => ({...one, k: names.indexOf(one.name)}))
        .filter((one) => shown(kind, one.name));
      const xs = series.flatMap((one) => one.x);
      const low = Math.min(...xs), high = Math.max(...xs);
      const size = x.unit === "s" && !x.log ? scale(high)[1] : 1;
      const at = (value) => x.log ? Math.log10(value) : value / size;
      return {
        animation: false,
        grid: {left: 62, right: 16, top: 14, bottom: x.zoom ? 74 : 48},
        xAxis: xAxis(x, low, high > low ? high : low + 1),
        yAxis: axis({
          name: y.name, nameGap: 46, min: y.from, max: y.percent ? 1 : undefined,
          scale: y.from === undefined,
          axisLabel: label({formatter: y.percent ? percent : number}),
        }),
        dataZoom: x.zoom ? zooms() : [],
        tooltip: tooltip({
          trigger: "axis",
          axisPointer: {type: "line", lineStyle: {color: own("--muted")}},
          formatter: (found) => said(found, every, x, y, size),
        }),
        series: every.map((one) => ({
          name: one.name, type: "line", step: data.step ? "end" : false,
          symbol: data.points ? "circle" : "none", symbolSize: 6,
          lineStyle: {width: 2, type: dashed(one.k) ? [6, 3] : "solid"},
          itemStyle: {color: palette(COLOURS, one.k)},
          data: one.x.map((value, i) => [at(value), one.y[i]]),
        })),
      };
    },
  };
}

// A step goes on to the next one: each line at the last of its points that is not beyond.
function said(found, every, x, y, size) {
  if (!found.length) return "";
  const place = found[0].axisValue;
  const value = x.log ? 10 ** place : place * size;
  const head = x.names ? x.names[Math.round(place)] : lasting(value, x.unit);
  const lines = every.map((one) => {
    let last = -1;
    for (let i = 0; i < one.x.length && one.x[i] <= value * (1 + 1e-9); i += 1) last = i;
    const known = last < 0 ? (y.percent ? 0 : NaN) : one.y[last];
    return [`${one.name}: ${y.percent ? percent(known) : number(known)}`, palette(COLOURS, one.k)];
  });
  return hover(`${x.name}: ${head}`, lines);
}

// What users held over time: a line for each policy, of those users that are switched on.
function shares(data, box) {
  const names = data.runs.map((one) => one.name);
  const policies = chips("policies", "policy", names, (k) => palette(COLOURS, k));
  const users = chips("users", "user", data.users, () => "", false);
  const more = chips("and", "wanted", ["demanded, at most all"], () => "", false);
  off.add(key("wanted", "demanded, at most all"));
  box.before(policies);
  if (data.users.length > 1) box.before(users);
  box.before(more);
  return {
    height: 380,
    option() {
      [policies, users, more].forEach((row) => row.look());
      const held = data.users.map((name, k) => [name, k]).filter(([name]) => shown("user", name));
      const [unit, size] = data.unit === "s" ? scale(data.times.at(-1)) : [data.unit, 1];
      const colours = data.runs.map((_, k) => palette(COLOURS, k));
      const last = data.times.length - 1;
      const line = (values, k, dots) => ({
        type: "line", step: "end", symbol: "none", itemStyle: {color: colours[k]},
        lineStyle: {width: dots ? 1.2 : 2, type: dots ? [2, 3] : dashed(k) ? [6, 3] : "solid"},
        data: [...values, values[last - 1]].map((value, i) => [data.times[i] / size, value]),
      });
      const own_ = data.runs.map((one, k) => ({...one, k}))
        .filter((one) => shown("policy", one.name));
      const sums = own_.map((one) => one.wanted.map((_, i) =>
        held.reduce((sum, [, u]) => sum + one.held[u][i], 0) / 1000));
      return {
        animation: false,
        grid: {left: 58, right: 16, top: 14, bottom: 74},
        xAxis: axis({name: `time (${unit})`, nameGap: 24, min: 0, max: data.times[last] / size,
          axisLabel: label({formatter: (value) => number(value), showMaxLabel: false})}),
        yAxis: axis({name: "share of the GPUs", nameGap: 42, min: 0,
          max: held.length === data.users.length ? 1 : undefined,
          axisLabel: label({formatter: percent})}),
        dataZoom: zooms(),
        tooltip: tooltip({
          trigger: "axis",
          axisPointer: {type: "line", lineStyle: {color: own("--muted")}},
          formatter: (found) => {
            if (!found.length) return "";
            const value = found[0].axisValue * size;
            let i = 0;
            while (i + 1 < last && data.times[i + 1] <= value + 1e-6) i += 1;
            return hover(`${lasting(data.times[i], data.unit)} to `
              + lasting(data.times[i + 1], data.unit),
              own_.map((one, k) => [`${one.name}: ${percent(sums[k][i])}, `
                + `of ${percent(one.wanted[i] / 1000)} demanded`, colours[one.k]]));
          },
        }),
        series: [
          ...own_.map((one, k) => line(sums[k], one.k, false)),
          ...(shown("wanted", "demanded, at most all")
            ? own_.map((one) => line(one.wanted.map((w) => w / 1000), one.k, true)) : []),
        ],
      };
    },
  };
}

// --- bars ---------------------------------------------------------------------------------------

function bars(data, box) {
  const {names} = data;
  const parts = data.series.map((one) => one.name);
  const row = chips("of", "part", parts, (k) => palette(COLOURS, k));
  if (parts.length > 1) box.before(row);
  const wide = Math.min(13, Math.max(...names.map((name) => name.length)) * 0.62) + 1;
  return {
    height: (12 + 20 * parts.length) * names.length + 66,
    option() {
      row.look();
      const mark = data.mark && {
        symbol: "none", silent: true, data: [{xAxis: data.mark.value}],
        lineStyle: {color: own("--bound"), width: 2, type: "solid"}, label: {show: false},
      };
      return {
        animation: false,
        grid: {left: Math.min(12 * wide, box.clientWidth * 0.4), right: 64, top: 6, bottom: 42},
        xAxis: axis({name: data.x, nameGap: 26, min: data.from || 0, max: data.to,
          axisLabel: label({formatter: data.percent ? (value) => percent(value)
            : (value) => value.toLocaleString("en-US", {maximumFractionDigits: 4})})}),
        yAxis: axis({type: "category", data: names, inverse: true, splitLine: {show: false},
          axisLabel: {color: own("--ink"), fontSize: 12, interval: 0, overflow: "break",
            width: Math.min(12 * wide, box.clientWidth * 0.4) - 12}}),
        tooltip: tooltip({trigger: "item", formatter: ({dataIndex}) =>
          hover(names[dataIndex], data.hover[dataIndex].map((text) => [text]))}),
        series: data.series.map((one, k) => ({
          name: one.name, type: "bar", barMaxWidth: 20, barGap: "10%",
          itemStyle: {color: palette(COLOURS, k)}, markLine: k ? undefined : mark,
          data: shown("part", one.name) ? one.values : [],
          label: {show: true, position: "right", color: own("--ink"), fontSize: 12,
            formatter: ({dataIndex}) => one.texts[dataIndex]},
        })),
      };
    },
  };
}

// From the bound to what a policy attained: each term on top of those before it.
function waterfall(data, box) {
  let policy = 0, order = 0;
  const names = data.ledgers.map((one) => one.policy);
  if (names.length > 1) {
    box.before(choice("policy", names, (k) => { policy = k; redraw(); }));
  }
  box.before(choice("removed first", data.orders, (k) => { order = k; redraw(); }));
  return {
    height: 380,
    option() {
      const one = data.ledgers[policy];
      const [unit, size] = scale(one.attained);
      const steps = [{name: "any policy ≥", from: 0, to: one.bound, kind: 0}];
      let at = one.bound;
      for (const [name, seconds] of [...one.orders[order]].reverse()) {
        steps.push({name, from: at, to: at + seconds, kind: seconds < 0 ? 2 : 1});
        at += seconds;
      }
      steps.push({name: one.policy, from: 0, to: one.attained, kind: 0});
      const colours = [own("--muted"), palette(COLOURS, 1), palette(COLOURS, 2)];
      const small = box.clientWidth < 560;
      const worth = (value) => small && Math.abs(value) >= 0.1
        ? number(Math.round(10 * value) / 10) : number(value);
      return {
        animation: false,
        grid: {left: 58, right: 12, top: 24, bottom: small ? 96 : 64},
        xAxis: axis({type: "category", data: steps.map((step) => step.name),
          splitLine: {show: false}, axisLabel: {color: own("--ink"), fontSize: 11, interval: 0,
            rotate: small ? 55 : 0, overflow: "break", lineHeight: 13,
            width: small ? 90 : (box.clientWidth - 70) / steps.length - 6}}),
        yAxis: axis({name: `mean completion (${unit})`, nameGap: 42,
          max: (extent) => 1.08 * extent.max,
          axisLabel: label({showMaxLabel: false, formatter: (value) => number(value)})}),
        tooltip: tooltip({trigger: "item", formatter: ({dataIndex}) => {
          const step = steps[dataIndex];
          const sign = step.kind === 1 ? "+" : step.kind === 2 ? "−" : "";
          return hover(step.name, [
            [`${sign}${lasting(Math.abs(step.to - step.from), "s")} of the mean completion`],
            ...(step.kind ? [[`${percent((step.to - step.from) / (one.attained - one.bound))} `
              + "of the loss"]] : []),
          ]);
        }}),
        series: [{
          type: "custom", encode: {x: 0, y: [1, 2]}, clip: true,
          renderItem(_, api) {
            const a = api.coord([api.value(0), api.value(1)]);
            const b = api.coord([api.value(0), api.value(2)]);
            const wide = Math.min(api.size([1, 0])[0] * 0.7, 56);
            const step = steps[api.value(0)];
            return {
              type: "rect", style: {fill: colours[step.kind]},
              shape: {x: a[0] - wide / 2, y: Math.min(a[1], b[1]), width: wide,
                height: Math.max(Math.abs(a[1] - b[1]), 1.5)},
              textConfig: {position: "top"},
              textContent: {style: {text: worth((step.to - step.from) / size),
                fill: own("--ink"), fontSize: small ? 9 : 11}},
            };
          },
          data: steps.map((step, k) => [k, step.from / size, step.to / size]),
        }],
      };
    },
  };
}

// --- who ran where and when ---------------------------------------------------------------------

function gantt(data, box) {
  let view = 0;
  const users = data.users.length > 1;
  const groups = users ? data.users.slice(0, 6) : data.classes;
  const most = groups.length - 1;
  const colour = (k) => users ? (k < 6 ? palette(COLOURS, k) : own("--muted"))
    : palette(GANGS, data.classes.length > 1 ? Math.round(5 * k / most) : 3);
  const kind = users ? "user" : "GPUs of a job";
  const every = users ? data.users : data.classes;
  if (data.views.length > 1) {
    box.before(choice(data.by, data.views.map((one) => one.name), (k) => { view = k; redraw(); }));
  }
  const note = make("p", {className: "said"});
  box.before(note);
  const row = chips(users ? "users" : kind, kind, every, colour);
  if (data.jobs) box.before(row);
  const gap = 0.3 + 0.005 * data.rows.reduce((sum, one) => sum + one[1], 0);
  const tops = [];
  let total = 0;
  for (const [, gpus] of data.rows) {
    tops.push(total);
    total += gpus + gap;
  }
  total -= gap;
  const high = Math.max(220, Math.min(680, 14 * total));
  const tall = total * 9 > high;
  return {
    height: high + 96,
    option() {
      row.look();
      const one = data.views[view];
      note.textContent = [one.title, data.note].filter(Boolean).join(" ");
      const [unit, size] = data.unit === "s" ? scale(data.end) : [data.unit, 1];
      const middles = data.rows.map(([, gpus], k) => tops[k] + gpus / 2);
      const wide = Math.min(110, Math.max(...data.rows.map(([name]) => name.length)) * 6.5 + 14);
      const yZoom = tall ? [
        {type: "slider", yAxisIndex: 0, filterMode: "none", width: 16, right: 4},
        {type: "inside", yAxisIndex: 0, filterMode: "none", zoomOnMouseWheel: "shift",
          moveOnMouseMove: false, moveOnMouseWheel: false, preventDefaultMouseMove: false},
      ] : [];
      return {
        animation: false,
        grid: {left: wide, right: tall ? 30 : 12, top: 10, bottom: 76},
        xAxis: axis({name: unit ? `time (${unit})` : "time", nameGap: 24, min: 0,
          max: data.end / size,
          axisLabel: label({formatter: (value) => number(value), showMaxLabel: false})}),
        yAxis: axis({inverse: true, min: 0, max: total, splitLine: {show: false},
          axisLabel: label({customValues: middles, width: wide - 10, overflow: "truncate",
            formatter: (value) => (data.rows[nearest(middles, value)] || [""])[0]})}),
        dataZoom: zooms(yZoom),
        tooltip: tooltip({trigger: "item", formatter: ({value}) =>
          data.jobs ? aboutJob(data, one, value[4]) : aboutCell(data, one, value[4])}),
        series: [tracks(data.rows, tops, data.end / size), data.jobs
          ? jobBars(data, one, size, tops, (k) => colour(k), (k) => shown(kind, every[k]))
          : cellBars(data, one, size, tops)],
      };
    },
  };
}

function nearest(sorted, value) {
  let best = 0;
  sorted.forEach((one, k) => {
    if (Math.abs(one - value) < Math.abs(sorted[best] - value)) best = k;
  });
  return best;
}

function rectangle(api, params, style, text) {
  const [x0, y0] = api.coord([api.value(0), api.value(2)]);
  const [x1, y1] = api.coord([api.value(1), api.value(3)]);
  const area = params.coordSys;
  const left = Math.max(x0, area.x), right = Math.min(x1, area.x + area.width);
  const above = Math.max(y0, area.y), below = Math.min(y1, area.y + area.height);
  if (right < left || below <= above) return undefined;
  const shape = {x: left, y: above, width: Math.max(right - left, 0.75), height: below - above};
  const made = {type: "rect", shape, style};
  if (text && shape.width > 6.4 * text.length + 4 && shape.height > 11) {
    made.textConfig = {position: "inside"};
    made.textContent = {style: {text, fontSize: 10.5, fill: style.ink}};
  }
  return made;
}

// The GPUs of each node, in use or not.
function tracks(rows, tops, end) {
  return {
    type: "custom", silent: true, tooltip: {show: false}, z: 1, encode: {x: [0, 1], y: [2, 3]},
    renderItem: (params, api) => rectangle(api, params, {fill: own("--track")}),
    data: rows.map(([, gpus], k) => [0, end, tops[k], tops[k] + gpus]),
  };
}

function inkOn(colour) {
  const [r, g, b] = [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16) / 255);
  return 0.3 * r + 0.59 * g + 0.11 * b < 0.52 ? "#ffffff" : "#16191d";
}

function jobBars(data, one, size, tops, colour, visible) {
  const {jobs} = data;
  const {job, row, first, count, start, end} = one.bars;
  const edge = own("--card");
  const found = [];
  for (let k = 0; k < job.length; k += 1) {
    if (!visible(jobs.group[job[k]])) continue;
    const top = tops[row[k]] + first[k];
    found.push([start[k] / size, end[k] / size, top, top + count[k], k]);
  }
  return {
    type: "custom", z: 2, encode: {x: [0, 1], y: [2, 3]}, data: found, progressive: 0,
    renderItem(params, api) {
      const j = job[api.value(4)];
      const fill = colour(jobs.group[j]);
      const style = {fill, stroke: edge, lineWidth: 0.5, ink: inkOn(fill)};
      return rectangle(api, params, style, jobs.id[j]);
    },
  };
}

function aboutJob(data, one, k) {
  const {jobs} = data;
  const {job, row, count, start, end} = one.bars;
  const j = job[k];
  const gang = `${jobs.gpus[j]} GPU${jobs.gpus[j] === 1 ? "" : "s"}`;
  const here = count[k] === jobs.gpus[j] ? "" : `, ${count[k]} of them here`;
  const lines = [[`${gang} on ${data.rows[row[k]][0]}${here}`]];
  if (data.users.length > 1) lines.unshift([`user ${data.users[jobs.group[j]]}`]);
  lines.push([`from ${lasting(start[k], data.unit)} to ${lasting(end[k], data.unit)}, `
    + lasting(end[k] - start[k], data.unit)]);
  lines.push([`submitted at ${lasting(jobs.release[j], data.unit)}, waited `
    + lasting(one.wait[j], data.unit)]);
  if (one.why && one.why[j]) lines.push([`why: ${one.why[j]}`]);
  return hover(jobs.id[j], lines);
}

// Shares of groups of nodes in spans of time, where there are too many jobs to tell apart.
function cellBars(data, one, size, tops) {
  const {row, bin, held} = one.cells;
  const long = data.end / data.bins;
  return {
    type: "custom", z: 2, encode: {x: [0, 1], y: [2, 3]}, progressive: 0,
    data: row.map((r, k) => [bin[k] * long / size, (bin[k] + 1) * long / size,
      tops[r], tops[r] + data.rows[r][1], k]),
    renderItem: (params, api) => rectangle(api, params, {
      fill: palette(COLOURS, 0), opacity: 0.12 + 0.88 * held[api.value(4)] / 1000,
    }),
  };
}

function aboutCell(data, one, k) {
  const {row, bin, held} = one.cells;
  const [name, , gpus] = data.rows[row[k]];
  const long = data.end / data.bins;
  return hover(name, [
    [`${percent(held[k] / 1000)} of ${number(gpus)} GPUs held`],
    [`from ${lasting(bin[k] * long, data.unit)} to ${lasting((bin[k] + 1) * long, data.unit)}`],
  ]);
}

// --- a chart in place of its pictures -----------------------------------------------------------

const KINDS = {lines, shares, bars, waterfall, gantt};

async function replace(part) {
  const data = await read(part.querySelector("script"));
  const still = part.querySelector(".still");
  const box = make("div", {className: "canvas"});
  part.append(box);
  box.before(make("h3", {textContent: part.dataset.title}));
  if (data.said) box.before(make("p", {className: "said", textContent: data.said}));
  still.hidden = true;
  const chart = KINDS[data.chart](data, box);
  box.style.height = `${Math.min(chart.height, 820)}px`;
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", part.dataset.title);
  const drawn = echarts.init(box, null, {renderer: "canvas"});
  const draw = () => {
    const zoomed = (drawn.getOption() || {}).dataZoom;
    const option = chart.option();
    (option.dataZoom || []).forEach((zoom, k) => {
      if (zoomed && zoomed[k]) Object.assign(zoom, {start: zoomed[k].start, end: zoomed[k].end});
    });
    drawn.setOption(option, {notMerge: true});
  };
  draw();
  charts.push({draw});
  new ResizeObserver(() => {
    drawn.resize();
    draw();
  }).observe(box);
}

// --- tables -------------------------------------------------------------------------------------

// What a cell counts as: its number, or one read from its text, or none.
function counted(cell) {
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  const found = /^[≥≤]?\s*(-?[\d,]*\.?\d+)\s*(s|min|h|d|%)?(\s|$)/.exec(cell.textContent.trim());
  if (!found) return NaN;
  const unit = UNITS.find(([name]) => name === found[2]);
  return Number(found[1].replaceAll(",", "")) * (unit ? unit[1] : 1);
}

function sortable(table) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  heads.forEach((head, column) => {
    const button = make("button", {type: "button", textContent: head.textContent});
    head.replaceChildren(button);
    button.onclick = () => {
      const numbers = head.classList.contains("number");
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => {
        const cell = row.cells[column];
        return {row, text: cell ? cell.textContent : "", value: cell ? counted(cell) : NaN};
      });
      const numeric = rows.some(({value}) => !Number.isNaN(value)) && (numbers
        || rows.every(({value, text}) => !Number.isNaN(value) || text === "–"));
      const way = down ? -1 : 1;
      rows.sort((a, b) => {
        if (!numeric) return way * a.text.localeCompare(b.text, "en", {numeric: true});
        const [none, other] = [Number.isNaN(a.value), Number.isNaN(b.value)];
        return none || other ? none - other : way * (a.value - b.value);
      });
      body.append(...rows.map(({row}) => row));
    };
  });
}

function filter(table) {
  const input = make("input", {type: "search", placeholder: "filter rows"});
  input.setAttribute("aria-label", "filter rows");
  input.oninput = () => {
    const wanted = input.value.toLowerCase();
    for (const body of table.tBodies) {
      for (const row of body.rows) {
        const head = row.cells[0].tagName === "TH";
        row.hidden = !head && !row.textContent.toLowerCase().includes(wanted);
      }
    }
  };
  return input;
}

function csv(table) {
  const quoted = (text) => /[",\n]/.test(text) ? `"${text.replaceAll("\"", "\"\"")}"` : text;
  const text = (cell) => {
    const unit = cell.dataset.unit ? ` (${cell.dataset.unit})` : "";
    return quoted(cell.dataset.value ?? cell.textContent + unit);
  };
  const rows = [...table.rows].map((row) => [...row.cells].flatMap((cell) =>
    [text(cell), ...Array(cell.colSpan - 1).fill("")]).join(","));
  return `${rows.join("\n")}\n`;
}

function tools(table) {
  const rows = [...table.tBodies].reduce((sum, body) => sum + body.rows.length, 0);
  if (table.tHead && rows > 1) sortable(table);
  const name = `${table.dataset.name || "table"}.csv`.replaceAll(/[^\w.-]+/g, "-").toLowerCase();
  const link = make("a", {href: "#", download: name, textContent: "download CSV"});
  link.onclick = () => {
    link.href = URL.createObjectURL(new Blob([csv(table)], {type: "text/csv"}));
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };
  const bar = make("div", {className: "tools"});
  if (rows > 12) bar.append(filter(table));
  bar.append(link);
  table.parentElement.before(bar);
}

document.querySelectorAll("table.data, table.across").forEach(tools);
if (typeof DecompressionStream === "function") {
  document.querySelectorAll(".chart").forEach(replace);
  dark.addEventListener("change", redraw);
}
})();
