"""Every kind of report in the system's Chromium, at the widths of a telephone and of a desk."""

import csv
import io
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from gangsched.cli import main

pytestmark = [pytest.mark.process, pytest.mark.slow]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
EVIL = "<img src=x onerror=console.error('evil')>"
QUIET = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-dev-shm-usage "
    "--disable-background-networking --disable-component-update --disable-sync --hide-scrollbars"
)
KINDS = ("solve", "compare", "replay", "describe", "audit", "reproduce")
DRAWN = [kind for kind in KINDS if kind != "audit"]
WIDTHS = (390, 1280)


def found_or_skipped(*names: str) -> str:
    """The first of these programs; without any, a failure in CI."""
    known = next(filter(None, map(shutil.which, names)), None)
    if known is None:
        text = f"no {names[0]} is installed: apt-get install chromium chromium-driver"
        if os.environ.get("CI") == "true":
            pytest.fail(text)
        pytest.skip(text)
    return known


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = found_or_skipped(*BROWSERS)
    service = webdriver.ChromeService(found_or_skipped("chromedriver"))
    for option in (*QUIET.split(), f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_page_load_timeout(120)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a report of each kind."""
    folder = tmp_path_factory.mktemp("reports")
    log = folder / "log.csv"
    users = "alice", "bob", "carol"
    rows = [
        [EVIL if i == 3 else f"job-{i}", users[i % 3], (1, 2, 4, 8)[i % 4], 300 * i, 900 + 37 * i]
        for i in range(60)
    ]
    with log.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["id", "user", "gpus", "submit", "duration"], *rows])
    read = ("--reader", "csv")
    cluster = (*read, "--nodes", "3", "--gpus-per-node", "8")
    commands = {
        "solve": ["solve", "rar-small-0"],
        "compare": ["compare", "rar-small-0", "--solvers", "sjf-bco,first-fit,list-scheduling"],
        "replay": ["replay", str(log), *cluster, "--policies", "fifo,srtf,las", "--ledger"],
        "describe": ["describe", str(log), *read],
        "audit": ["audit", str(log), *read, "--nodes", "1", "--gpus-per-node", "4"],
        "reproduce": ["reproduce", "gandiva_fair:fig1", "--out", str(folder / "out")],
    }
    for kind, command in commands.items():
        with pytest.raises(SystemExit) as stop:
            main([*command, "--report", str(folder / f"{kind}.html")])
        assert stop.value.code == (1 if kind == "audit" else 0)
    return folder


def opened(browser: Any, path: Path, width: int, scheme: str = "light") -> None:
    """Open a report, and wait for its charts."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    browser.get(path.as_uri())
    browser.get_log("browser")
    browser.refresh()
    drawn = "return [...document.querySelectorAll('.chart')].every(c => c.querySelector('canvas'))"
    WebDriverWait(browser, 120).until(lambda b: b.execute_script(drawn))


def errors(browser: Any) -> list[Any]:
    return [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE",)]


def chart(browser: Any, name: str) -> Any:
    return browser.find_element(By.CSS_SELECTOR, f".chart[data-name='{name}']")


def hovered(browser: Any, name: str, wanted: str) -> str:
    """What is said below the pointer, at the first place of a chart at which this is found."""
    canvas = chart(browser, name).find_element(By.TAG_NAME, "canvas")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    width, height = canvas.size["width"], canvas.size["height"]
    read = "return [...document.querySelectorAll('.hover')].map(one => one.textContent).join('|')"
    for row in range(2, 18):
        for column in (-0.28, -0.1, 0.05, 0.2):
            place = int(column * width), int((row / 20 - 0.5) * height)
            ActionChains(browser, duration=0).move_to_element_with_offset(canvas, *place).perform()
            text = str(browser.execute_script(read))
            if re.search(wanted, text):
                return text
    raise AssertionError(f"nothing in the chart {name} says {wanted}")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_report_fits_and_runs_without_errors(
    browser: Any, reports: Path, kind: str, width: int
) -> None:
    path = reports / f"{kind}.html"
    assert path.stat().st_size < 1_500_000
    opened(browser, path, width, "dark" if width == 390 else "light")
    wide = "return [document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]"
    page, body, window = browser.execute_script(wide)
    assert page <= window == width
    assert body <= window
    assert errors(browser) == []
    assert browser.find_elements(By.CSS_SELECTOR, "a[download$='.csv']")
    shown = [p.is_displayed() for p in browser.find_elements(By.CSS_SELECTOR, ".still svg")]
    assert not any(shown)
    assert bool(browser.find_elements(By.CSS_SELECTOR, "canvas")) == (kind in DRAWN)


def test_without_a_browser_it_fails_in_ci_and_skips_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no no-such-browser is installed"):
        found_or_skipped("no-such-browser")
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="no no-such-browser is installed"):
        found_or_skipped("no-such-browser")


@pytest.mark.parametrize("kind", KINDS)
def test_without_script_the_pictures_stand_there(browser: Any, reports: Path, kind: str) -> None:
    opened(browser, reports / f"{kind}.html", 390)
    off = "Emulation.setScriptExecutionDisabled"
    browser.execute_cdp_cmd(off, {"value": True})
    try:
        browser.refresh()
        pictures = browser.find_elements(By.CSS_SELECTOR, "figure svg")
        assert any(picture.is_displayed() for picture in pictures)
        assert browser.find_elements(By.CSS_SELECTOR, "canvas, .tools, .chips") == []
        if kind == "replay":
            for name, count in (("losses", 1), ("nodes", 3), ("distributions", 1), ("use", 1)):
                still = f".chart[data-name='{name}'] .still svg"
                found = browser.find_elements(By.CSS_SELECTOR, still)
                assert [one.is_displayed() for one in found] == [True] * count
    finally:
        browser.execute_cdp_cmd(off, {"value": False})


@pytest.mark.parametrize("width", WIDTHS)
def test_hover_reads_a_job_and_why_it_waited(browser: Any, reports: Path, width: int) -> None:
    opened(browser, reports / "replay.html", width)
    text = hovered(browser, "nodes", r"job-\d+.*why: ")
    assert re.search(r"user (alice|bob|carol)", text)
    assert re.search(r"\d GPUs? on n\d", text)
    assert re.search(r"why: (round|policy|fragmentation|lease|no room|fairness|order) \d", text)
    for kind in ("solve", "compare"):
        opened(browser, reports / f"{kind}.html", width)
        assert "waited" in hovered(browser, "schedules", r"j\d+")
    assert errors(browser) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_a_table_sorts_and_is_filtered_and_saved(browser: Any, reports: Path, width: int) -> None:
    opened(browser, reports / "replay.html", width)
    table = browser.find_element(By.CSS_SELECTOR, "table[data-name='results 1']")
    (number,) = [
        k
        for k, head in enumerate(table.find_elements(By.CSS_SELECTOR, "thead th"))
        if head.text.replace("\n", " ").startswith("mean completion")
    ]

    def values() -> list[float]:
        cells = table.find_elements(By.CSS_SELECTOR, f"tbody td:nth-child({number + 1})")
        return [float(cell.get_attribute("data-value")) for cell in cells]

    before = values()
    head = table.find_elements(By.CSS_SELECTOR, "thead th")[number]
    for down in (False, True):
        browser.execute_script("arguments[0].click()", head.find_element(By.TAG_NAME, "button"))
        assert values() == sorted(before, reverse=down)
        assert head.get_attribute("aria-sort") == ("descending" if down else "ascending")
    waits = browser.find_element(By.CSS_SELECTOR, "table[data-name='longest waits']")
    tools = waits.find_element(By.XPATH, "../preceding-sibling::div[@class='tools'][1]")
    tools.find_element(By.TAG_NAME, "input").send_keys("srtf")
    rows = waits.find_elements(By.CSS_SELECTOR, "tbody tr")
    shown = [row.is_displayed() for row in rows]
    assert shown == ["srtf" in (row.get_attribute("textContent") or "") for row in rows]
    assert 0 < sum(shown) < len(rows)
    link = tools.find_element(By.CSS_SELECTOR, "a[download='longest-waits.csv']")
    browser.execute_script("arguments[0].addEventListener('click', e => e.preventDefault())", link)
    browser.execute_script("arguments[0].click()", link)
    code = "const done = arguments[1]; fetch(arguments[0]).then(r => r.text()).then(done)"
    text = browser.execute_async_script(code, link.get_attribute("href"))
    head_line, *lines = csv.reader(io.StringIO(text))
    assert head_line[:2] == ["policy", "job"]
    assert "wait (s)" in head_line
    assert len(lines) == len(rows)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_policy_toggles_in_all_charts(browser: Any, reports: Path, width: int) -> None:
    opened(browser, reports / "replay.html", width)
    hovered(browser, "distributions", "fifo: .*srtf: ")
    (chip, *others) = browser.find_elements(By.XPATH, "//button[@class='chip'][.='fifo']")
    chip = next(one for one in (chip, *others) if one.get_attribute("data-kind") == "policy")
    before = pixels(browser, "use")
    browser.execute_script("arguments[0].click()", chip)
    assert chip.get_attribute("aria-pressed") == "false"
    assert "fifo" not in hovered(browser, "distributions", "srtf: ")
    assert pixels(browser, "use") != before
    browser.execute_script("arguments[0].click()", chip)
    assert chip.get_attribute("aria-pressed") == "true"
    assert "fifo: " in hovered(browser, "distributions", "srtf: ")


def pixels(browser: Any, name: str) -> str:
    canvas = chart(browser, name).find_element(By.TAG_NAME, "canvas")
    return str(browser.execute_script("return arguments[0].toDataURL()", canvas))


def test_names_are_no_code(browser: Any, reports: Path) -> None:
    for kind in ("replay", "audit"):
        opened(browser, reports / f"{kind}.html", 1280)
        text = (reports / f"{kind}.html").read_text("utf-8")
        assert EVIL not in text
        found = browser.find_elements(By.CSS_SELECTOR, "img[src='x']")
        assert found == []
        assert errors(browser) == []


def test_charts_follow_the_colours_of_the_reader(browser: Any, reports: Path) -> None:
    opened(browser, reports / "replay.html", 1280, "light")
    light = pixels(browser, "use")
    media = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    WebDriverWait(browser, 60).until(lambda b: pixels(b, "use") != light)
