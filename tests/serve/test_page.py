"""The page: small, self-contained, and in a browser by mouse, keyboard and camera."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memoryless.model import Model
from memoryless.serve.app import PAGE, page_files
from memoryless.serve.teacher import Teacher
from photo_toys import CHROMIUM, make_backbone, make_colours
from servers import address, empty_model, served, teach

browser = pytest.mark.browser
EVERY = [(width, scheme) for width in (360, 1280) for scheme in ("light", "dark")]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
]


def test_the_page_is_small():
    assert sum(len(content) for content, _ in page_files().values()) < 150_000


def test_the_page_asks_nobody_else():
    for path in PAGE.iterdir():
        text = path.read_text()
        found = set(re.findall(r"(?:https?:)?//[a-z][\w.-]+", text))
        assert found <= {"http://www.w3.org"}, path


def test_nothing_stands_in_line():
    """The policy allows neither scripts nor styles in the page itself."""
    text = (PAGE / "index.html").read_text()
    assert "<style" not in text
    assert not re.search(r'\s(style|on\w+)="', text)
    assert re.findall(r"<script[^>]*>(.*?)</script>", text) == [""]
    for path in PAGE.glob("*.js"):
        script = path.read_text()
        for way in ("innerHTML", "insertAdjacentHTML", "document.write", "eval(", ".style."):
            assert way not in script, path


def test_labels_lead_to_fields():
    text = (PAGE / "index.html").read_text()
    ids = re.findall(r'\sid="([\w-]+)"', text)
    assert len(ids) == len({*ids})
    for name in re.findall(r'(?:for|aria-labelledby|list)="([\w-]+)"', text):
        assert name in ids


def test_scripts_name_elements_that_are_there():
    ids = {*re.findall(r'\sid="([\w-]+)"', (PAGE / "index.html").read_text())}
    for path in PAGE.glob("*.js"):
        assert {*re.findall(r'byId\("([\w-]+)"\)', path.read_text())} <= ids, path


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    """Photos to learn, one of them in the wrong folder, and others to test."""
    make_colours(tmp_path / "zoo", "elk", "owl", number=20)
    (tmp_path / "zoo" / "elk" / "3.png").rename(tmp_path / "zoo" / "owl" / "moved.png")
    (tmp_path / "zoo" / "owl" / "notes.txt").write_text("dear")
    make_colours(tmp_path / "later", "cat", number=20, seed=1)
    make_colours(tmp_path / "test", "elk", "owl", "cat", number=8, seed=2)
    return tmp_path


@contextmanager
def opened(base: str, width: int, scheme: str, **more: Any) -> Iterator[Any]:
    """The page in a browser: no error, and no request but to its server."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        page = chromium.new_page(
            viewport={"width": width, "height": 800}, color_scheme=scheme, **more
        )
        page.set_default_timeout(20_000)
        problems: list[str] = []
        outside: list[str] = []
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda sent: outside.append(sent.url))
        page.goto(f"{base}/")
        page.wait_for_selector("#knows:not(:text('Loading'))")
        yield page
        wrong = [text for text in problems if "401 (Unauthorized)" not in text]
        assert wrong == []
        assert [x for x in outside if not x.startswith((f"{base}/", f"blob:{base}/"))] == []
        chromium.close()


def check_view(page: Any) -> None:
    """Nothing overflows, and axe finds nothing."""
    from axe_playwright_python.sync_playwright import Axe

    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]
    assert not re.search("undefined|NaN|\\[object", page.locator("main").inner_text())
    found = Axe().run(page, options={"resultTypes": ["violations"]})
    said = [
        (one["id"], [node["target"] for node in one["nodes"]], one["nodes"][0]["failureSummary"])
        for one in found.response["violations"]
    ]
    assert said == []


def choose(page: Any, field: str, place: Path) -> None:
    page.locator(field).set_input_files(str(place))


def knows(page: Any, text: str) -> None:
    page.wait_for_selector(f"#knows:has-text('{text}')")


def view(page: Any, name: str) -> None:
    page.click(f"nav a[href='#{name}']")
    page.wait_for_selector(f"#{name}:visible")


@browser
@pytest.mark.parametrize(("width", "scheme"), EVERY)
def test_the_whole_story(width, scheme, zoo, tmp_path, tiny_backbone):
    other = empty_model(tmp_path / "north.memoryless", tiny_backbone)
    with served(other) as client:
        teach(client, make_colours(tmp_path / "north", "dog", number=20), ["dog"])
    model = empty_model(tmp_path / "zoo.memoryless", tiny_backbone)
    with address(model) as base, opened(base, width, scheme, bypass_csp=True) as page:
        first_lesson(page, zoo)
        try_and_correct(page, zoo)
        change_the_model(page, other)
        measure(page, zoo)
        page.reload()
        knows(page, "4 classes, 80 photos seen, none kept")
        assert page.title() == "zoo · memoryless"


def first_lesson(page: Any, zoo: Path) -> None:
    knows(page, "knows nothing yet")
    check_view(page)
    choose(page, "#folder", zoo / "zoo")
    page.wait_for_selector("#suspects:visible")
    assert page.locator("#suspects figcaption").inner_text() == "in owl, looks like elk"
    assert page.locator("#broken li").inner_text() == "notes.txt: not an image"
    check_view(page)
    page.get_by_role("button", name="Move to elk").click()
    page.locator("#suspects").wait_for(state="hidden")
    page.wait_for_selector("#learn:enabled")
    assert page.locator("#plan th").all_inner_texts() == ["elk\nnew", "owl\nnew"]
    assert page.locator("#plan td").all_inner_texts() == ["20", "20"]
    page.get_by_role("button", name="Learn 40 photos").click()
    page.get_by_role("heading", name="Learned 40 photos of 2 classes, and kept none").wait_for()
    knows(page, "2 classes, 40 photos seen, none kept")
    check_view(page)
    page.get_by_role("button", name="Teach more").click()
    page.fill("#class", "cat")
    assert page.locator("#class-hint").inner_text() == "cat is a new class."
    files = sorted((zoo / "later" / "cat").iterdir())
    page.locator("#files").set_input_files([str(file) for file in files[:4]])
    page.wait_for_selector("#few:visible")
    assert "cat has 4 of the 5 photos that a class needs" in page.locator("#few-why").inner_text()
    assert page.locator("#learn").is_disabled()
    page.locator("#files").set_input_files([str(file) for file in files[4:]])
    page.get_by_role("button", name="Learn 20 photos").click()
    knows(page, "3 classes, 60 photos seen")
    page.click("#undo")
    knows(page, "2 classes, 40 photos seen")
    assert page.locator("#learned").is_hidden()


def try_and_correct(page: Any, zoo: Path) -> None:
    view(page, "try")
    page.locator("#try-files").set_input_files(str(zoo / "test" / "owl" / "0.png"))
    page.wait_for_selector(".verdict")
    assert page.locator(".verdict").inner_text() == "owl"
    check_view(page)
    cats = sorted((zoo / "later" / "cat").iterdir())[:19]
    page.locator("#try-files").set_input_files([str(file) for file in cats])
    page.wait_for_selector("#others .thumb >> nth=18")
    for i in range(19):
        page.locator("#others .thumb").nth(i).click()
        page.fill("#correct-class", "cat")
        page.keyboard.press("Enter")
        if i == 2:
            assert "3 of 5 needed, a new class" in page.locator("#tray h4").inner_text()
            assert page.locator("#tray-learn").is_disabled()
    check_view(page)
    assert "There are 19 of the 20 photos" in page.locator("#tray-why").inner_text()
    page.check("#tray-allow")
    page.get_by_role("button", name="Teach 19 corrections").click()
    knows(page, "3 classes, 59 photos seen")
    page.wait_for_selector(".verdict:has-text('cat')")


def change_the_model(page: Any, other: Path) -> None:
    view(page, "model")
    check_view(page)
    page.get_by_role("button", name="Rename cat").click()
    page.keyboard.type("lynx")
    page.keyboard.press("Enter")
    page.wait_for_selector("#classes th:has-text('lynx')")
    page.locator("#merge-file").set_input_files(str(other))
    knows(page, "4 classes, 79 photos seen")
    page.get_by_role("button", name="Forget lynx").click()
    page.wait_for_selector("dialog[open]")
    assert "The model then knows 3 classes." in page.locator("dialog[open]").inner_text()
    check_view(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Forget lynx").click()
    page.locator("#ask-yes").click()
    knows(page, "3 classes, 60 photos seen")
    assert page.locator("#undo").is_hidden()
    page.fill("#search", "OW")
    assert page.locator("#classes tbody th").all_inner_texts() == ["owl"]
    page.fill("#search", "")
    page.locator("#classes th[data-key=photos] button").click()
    assert page.locator("th[data-key=photos]").get_attribute("aria-sort") == "ascending"
    for button, ending in (("#get-onnx", "zoo.onnx"), ("#get-model", "zoo.memoryless")):
        with page.expect_download() as download:
            page.click(button)
        assert download.value.suggested_filename == ending


def measure(page: Any, zoo: Path) -> None:
    view(page, "teach")
    page.get_by_role("button", name="Teach more").click()
    choose(page, "#folder", zoo / "later")
    page.get_by_role("button", name="Learn 20 photos").click()
    knows(page, "4 classes, 80 photos seen")
    view(page, "good")
    choose(page, "#good-folder", zoo / "test")
    page.wait_for_selector("#results:visible")
    number = page.locator(".huge").inner_text()
    assert re.fullmatch(r"\d+\.\d %", number)
    right = re.search(r"(\d+) of 24 photos correct", page.locator(".headline").inner_text())
    assert right
    assert number == f"{100 * int(right[1]) / 24:.1f} %"
    check_view(page)


@browser
@pytest.mark.parametrize("width", [360, 1280])
def test_the_first_visit(width, tmp_path, tiny_backbone):
    """Three steps, and a button that teaches ten drawings where no photos are at hand."""
    model = empty_model(tmp_path / "new.memoryless", tiny_backbone)
    with address(model) as base, opened(base, width, "light", bypass_csp=True) as page:
        steps = page.locator("#welcome .steps li")
        assert [steps.nth(i).is_visible() for i in range(steps.count())] == [True] * 3
        assert page.locator("#welcome .steps b").all_inner_texts() == ["Show", "Learn", "Try"]
        page.wait_for_function(
            "[...document.querySelectorAll('#sample-drawings img')]"
            ".filter(image => image.naturalWidth === 28).length === 10"
        )
        page.get_by_role("button", name="Teach ten drawings").click()
        page.get_by_role("heading", name="Learned 300 photos of 10 classes").wait_for()
        knows(page, "10 classes, 300 photos seen, none kept")
        assert page.locator("#welcome").is_hidden()
        assert re.search(r"\d+ of 300 photos are recognized", page.locator("#learned").inner_text())
        check_view(page)
        page.get_by_role("link", name="Try it now").click()
        page.get_by_role("button", name="Drawing 1", exact=True).click()
        page.wait_for_selector(".verdict")
        page.click("#undo")
        knows(page, "knows nothing yet")
        view(page, "teach")
        page.wait_for_selector("#welcome:visible")


@browser
def test_a_folder_of_folders_that_is_dropped(zoo, tmp_path, tiny_backbone):
    """A real drop, so that the page walks through real entries of folders."""
    (zoo / "zoo" / ".hidden").mkdir()
    (zoo / "zoo" / ".hidden" / "x.png").write_bytes(b"x")
    make_colours(zoo / "zoo", "cat", number=120)  # chromium lists 100 entries at a time
    model = empty_model(tmp_path / "zoo.memoryless", tiny_backbone)
    with address(model) as base, opened(base, 1280, "light") as page:
        page.fill("#class", "another")
        drop(page, "#drop", zoo / "zoo")
        page.wait_for_selector("#learn:enabled")
        assert page.locator("#plan th").all_inner_texts() == ["cat\nnew", "elk\nnew", "owl\nnew"]
        assert page.locator("#plan td").all_inner_texts() == ["120", "19", "21"]
        assert page.locator("#broken li").all_inner_texts() == ["notes.txt: not an image"]


@browser
def test_a_folder_of_test_photos_that_is_dropped(zoo, tmp_path, tiny_backbone):
    model = empty_model(tmp_path / "zoo.memoryless", tiny_backbone)
    with served(model) as client:
        teach(client, zoo / "test", ["elk", "owl"], few="true")
    with address(model) as base, opened(base, 1280, "light") as page:
        view(page, "good")
        drop(page, "#good-drop", zoo / "test")
        page.wait_for_selector("#results:visible")
        assert "of 16 photos correct" in page.locator(".headline").inner_text()
        assert "8 photos of 1 class that it does not know" in page.locator(".headline").inner_text()


def drop(page: Any, area: str, folder: Path) -> None:
    """Drop a folder as a file manager does: scripts alone cannot make entries of folders."""
    box = page.locator(area).bounding_box()
    devtools = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        devtools.send(
            "Input.dispatchDragEvent",
            {
                "type": kind,
                "x": box["x"] + box["width"] / 2,
                "y": box["y"] + 20,
                "data": {"items": [], "files": [str(folder)], "dragOperationsMask": 1},
            },
        )


@browser
def test_by_keyboard_alone(zoo, tmp_path, tiny_backbone):
    """Every control is reached by the Tab key, in a sensible order, and shows that it is."""
    model = empty_model(tmp_path / "zoo.memoryless", tiny_backbone)
    with served(model) as client:
        teach(client, zoo / "test", ["elk", "owl"], few="true")
    with address(model) as base, opened(base, 1280, "light") as page:
        order = []
        for _ in range(10):
            page.keyboard.press("Tab")
            order.append(page.evaluate("document.activeElement.id || document.activeElement.hash"))
            outline = "getComputedStyle(document.activeElement).outlineStyle"
            assert page.evaluate(outline) != "none", order
        assert order[1:9] == [
            "undo", "#teach", "#try", "#model", "#good", "class", "choose", "choose-folder",
        ]  # fmt: skip
        page.focus("nav a[href='#model']")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Rename elk").focus()
        page.keyboard.press("Enter")
        page.keyboard.type("moose")
        page.keyboard.press("Enter")
        page.wait_for_selector("#classes th:has-text('moose')")
        page.wait_for_selector("[aria-label='Rename moose']:focus")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog[open]")
        page.keyboard.press("Enter")  # the first button is Cancel
        knows(page, "2 classes")
        page.go_back()
        page.wait_for_selector("#teach:visible")


@browser
def test_the_camera(zoo, tmp_path, tiny_backbone):
    model = empty_model(tmp_path / "zoo.memoryless", tiny_backbone)
    with served(model) as client:
        teach(client, zoo / "test", ["elk", "owl"], few="true")
    with address(model) as base, opened(base, 1280, "light", bypass_csp=True) as page:
        page.fill("#class", "studio")
        page.click("#use-camera")
        page.wait_for_function("document.getElementById('camera-video').videoWidth > 0")
        page.focus("#hold")
        page.keyboard.down("Space")
        page.wait_for_selector("#groups .thumb >> nth=5")
        page.keyboard.up("Space")
        page.wait_for_timeout(300)
        taken = page.locator("#groups .thumb").count()
        page.wait_for_timeout(400)
        assert page.locator("#groups .thumb").count() == taken
        page.check("#few-allow")
        page.wait_for_selector("#learn:enabled")
        page.click("#learn")
        knows(page, "3 classes")
        view(page, "try")
        page.click("#try-camera")
        page.wait_for_selector(".verdict")
        assert page.locator("#try-live").is_visible()
        page.get_by_role("button", name="Stop the camera").click()
        assert page.locator("#try-live").is_hidden()


@browser
def test_a_photo_that_is_dropped_or_pasted(zoo, tmp_path, tiny_backbone):
    model = empty_model(tmp_path / "zoo.memoryless", tiny_backbone)
    with address(model) as base, opened(base, 1280, "dark") as page:
        content = list((zoo / "test" / "owl" / "0.png").read_bytes())
        page.fill("#class", "owl")
        page.evaluate(
            """bytes => {
              const data = new DataTransfer();
              data.items.add(new File([new Uint8Array(bytes)], "one.png", {type: "image/png"}));
              document.getElementById("drop")
                .dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
              document.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data}));
            }""",
            content,
        )
        page.wait_for_selector("#groups .thumb >> nth=1")
        page.get_by_role("button", name="Remove photo one.png of owl").first.click()
        page.wait_for_selector("#plan td:text('1')")


@browser
def test_the_token_is_asked_for_once_and_kept_in_memory(zoo, tmp_path, tiny_backbone):
    model = empty_model(tmp_path / "zoo.memoryless", tiny_backbone)
    from playwright.sync_api import sync_playwright

    with address(model, token="sesame") as base, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        page = chromium.new_page()
        page.goto(base)
        page.fill("#token-input", "sesame")
        page.keyboard.press("Enter")
        knows(page, "knows nothing yet")
        assert page.evaluate("localStorage.length + sessionStorage.length") == 0
        assert page.context.cookies() == []
        chromium.close()


@browser
def test_names_are_text(zoo, tmp_path, tiny_backbone):
    name = "<img src=x onerror=alert(1)>&amp;\"'"
    model = empty_model(tmp_path / "zoo.memoryless", tiny_backbone)
    with served(model) as client:
        teach(client, zoo / "test", ["elk", "owl"], few="true")
        client.post("/rename", json={"class": "elk", "name": name})
    with address(model) as base, opened(base, 360, "light") as page:
        view(page, "model")
        assert page.locator("#classes tbody th").first.inner_text() == name
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


ANSWERS = {
    "known": "owl",
    "unsure": "Unsure\n\nPerhaps owl, but the photo fits this class less well than most.",
    "unknown": "Unknown\n\nNone of the known classes fits. The nearest is owl.",
}


@browser
@pytest.mark.parametrize("kind", ANSWERS)
def test_three_answers(kind, zoo, tmp_path, tiny_backbone):
    """Unsure keeps the bars, muted; unknown has none."""
    model = empty_model(tmp_path / "zoo.memoryless", tiny_backbone)
    with served(model) as client:
        teach(client, zoo / "test", ["elk", "owl"], few="true")
    top = [{"label": "owl", "score": 0.75}, {"label": "elk", "score": 0.25}]
    result = {"file": "0", "answer": kind, "top": top}
    with address(model) as base, opened(base, 360, "dark", bypass_csp=True) as page:
        page.route("**/predict*", lambda route: route.fulfill(json={"results": [result]}))
        view(page, "try")
        page.locator("#try-files").set_input_files(str(zoo / "test" / "owl" / "0.png"))
        page.wait_for_selector(".verdict")
        assert page.locator("#answer").inner_text().startswith(ANSWERS[kind])
        assert page.locator("#answer .bars li").count() == (0 if kind == "unknown" else 2)
        assert page.locator(".bars.unsure").count() == (kind == "unsure")
        check_view(page)


@browser
def test_a_thousand_classes(tmp_path):
    model = Model(backbone="none")
    rows = np.random.default_rng(0).random((3000, 8)).astype(np.float32)
    model.learn(rows, [f"Genus_species_{i:04d}" for i in range(1000)] * 3)
    overview = model_of_a_thousand(model, tmp_path)
    with (
        address(empty_model(tmp_path / "m.memoryless", make_backbone(tmp_path / "b.onnx"))) as base,
        opened(base, 360, "light", bypass_csp=True) as page,
    ):
        page.route("**/model", lambda route: route.fulfill(json=overview))
        page.reload()
        knows(page, "1,000 classes, 3,000 photos seen")
        view(page, "model")
        assert page.locator("#classes tbody tr").count() == 1000
        page.fill("#search", "0999")
        assert page.locator("#class-count").inner_text() == "1 of 1000 classes"
        check_view(page)


def model_of_a_thousand(model: Model, place: Path) -> dict[str, Any]:
    """What a server would say of a model; this one takes no photos, so none serves it."""
    model.save(place / "thousand.memoryless")
    return Teacher(place / "thousand.memoryless").overview()
